import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Lifetime } from '../../server/test/harness.ts'

export type Message = {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Lets a server reach receivers of its tests. */
export const receiverEnv = { COMPUTER_WEBHOOK_NETWORKS: '127.0.0.1' }

/** A receiver of webhooks that answers with the status that the test sets, and keeps what it gets. */
export async function startReceiver(t: Lifetime) {
  const messages: Message[] = []
  const receiver = { messages, status: 204, url: '', host: '' }
  const http = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    messages.push({ headers: request.headers, body: Buffer.concat(chunks).toString() })
    response.writeHead(receiver.status).end()
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  t.after(() => {
    http.closeAllConnections()
    http.close()
  })
  receiver.host = `127.0.0.1:${(http.address() as AddressInfo).port}`
  receiver.url = `http://${receiver.host}/hook`
  return receiver
}

/** Whether one of the signatures of a message is made with the secret. */
export function isSignedWith(secret: string, { headers, body }: Message): boolean {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  const signature = createHmac('sha256', key).update(content).digest('base64')
  return String(headers['webhook-signature']).split(' ').includes(`v1,${signature}`)
}
