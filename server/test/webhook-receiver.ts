import { once } from 'node:events'
import { createServer as createHttpServer, type ServerResponse } from 'node:http'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { Webhook } from 'standardwebhooks'
import type { Lifetime } from './harness.ts'

/** A message as a receiver gets it. */
export type Received = {
  readonly headers: Record<string, string>
  readonly payload: string
  readonly type: string
}

type Answer = (response: ServerResponse, count: number, message: Received) => void

/** A receiver on loopback that answers as the test says, and keeps what it gets. */
export async function startReceiver(t: Lifetime, answer: Answer = (response) => response.end()) {
  const received: Received[] = []
  const { url } = await startAnswering(t, (response, count, message) => {
    received.push(message)
    answer(response, count, message)
  })
  return { received, url }
}

/** A receiver on loopback that keeps nothing. */
export async function startAnswering(t: Lifetime, answer: Answer): Promise<{ url: string }> {
  let count = 0
  const http = createHttpServer((request, response) => {
    let payload = ''
    request.setEncoding('utf8').on('data', (text: string) => (payload += text))
    request.once('end', () => {
      const { type } = JSON.parse(payload) as { type: string }
      count += 1
      answer(response, count, { headers: request.headers as Received['headers'], payload, type })
    })
  })
  t.after(() => {
    http.closeAllConnections()
    http.close()
  })
  return { url: `${await listenOnLoopback(http)}/hook` }
}

/**
 * A receiver that says to each connection what the test wants, HTTP or not, once it has got something. `say` returns
 * false once the sender has closed the connection, and `end` closes it.
 */
export async function startRawReceiver(
  t: Lifetime,
  answer: (say: (text: string) => boolean, end: () => void) => void,
) {
  const closing = new AbortController()
  const server = createServer((socket) => {
    closing.signal.addEventListener('abort', () => socket.destroy())
    // The sender cuts off what it does not want.
    socket.on('error', () => {})
    socket.once('data', () => {
      const say = (text: string) => {
        if (!socket.destroyed) socket.write(text)
        return !socket.destroyed
      }
      answer(say, () => socket.destroy())
    })
  })
  t.after(() => {
    closing.abort()
    server.close()
  })
  return { url: await listenOnLoopback(server) }
}

async function listenOnLoopback(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** What the message contains, if the package of Standard Webhooks verifies it with the secret. Throws otherwise. */
export function verify(secret: string, { headers, payload }: Received) {
  return new Webhook(secret).verify(payload, headers) as {
    readonly type: string
    readonly timestamp: string
    readonly data: Readonly<Record<string, unknown>> & { readonly id: string }
  }
}
