import type { Machine } from '@computer/sdk'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocket, WebSocketServer } from 'ws'
import { page, readViewer, script } from './page.ts'

type ViewOptions = { readonly viewOnly: boolean }

/**
 * Serves a page with the screen of a machine on the loopback address. The URL holds a secret, and
 * requests with another Host or Origin are refused, so that no web page can reach it.
 */
export async function openView(machine: Machine, options: ViewOptions) {
  const secret = randomBytes(16).toString('hex')
  const viewer = await readViewer()
  const files: Readonly<Record<string, readonly [type: string, text: string]>> = {
    [`/${secret}/`]: ['text/html', page(machine.name)],
    [`/${secret}/view.js`]: ['text/javascript', script(options)],
    [`/${secret}/novnc.js`]: ['text/javascript', viewer],
  }
  const serveFile = (request: IncomingMessage, response: ServerResponse) => {
    const file = request.headers.host === host ? files[request.url ?? ''] : undefined
    if (!file) return void response.writeHead(404).end()
    const [type, text] = file
    response.writeHead(200, { ...headers, 'content-type': `${type}; charset=utf-8` }).end(text)
  }
  const server = createServer(serveFile)
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false })
  server.on('upgrade', (request, socket, head) => {
    const { host: name, origin } = request.headers
    const isAllowed =
      name === host && origin === `http://${host}` && request.url === `/${secret}/screen`
    if (!isAllowed) return socket.destroy()
    sockets.handleUpgrade(request, socket, head, (client) => void relay(machine, client, options))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: `http://${host}/${secret}/`,
    async [Symbol.asyncDispose]() {
      for (const client of sockets.clients) client.terminate()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const headers = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; connect-src 'self'; img-src data: blob:; style-src 'unsafe-inline'; frame-ancestors 'none'",
}

/** Relays one RFB connection between the page and the machine. */
async function relay(
  machine: Machine,
  client: WebSocket,
  { viewOnly }: ViewOptions,
): Promise<void> {
  const early: Buffer[] = []
  const queueEarly = (bytes: Buffer) => void early.push(bytes)
  client.on('message', queueEarly)
  client.on('error', () => client.terminate())
  try {
    const screen = await machine.screen({ viewOnly })
    client.once('close', () => screen.close())
    screen.onclose = () => client.close()
    screen.onmessage = ({ data }) => client.send(data)
    client.off('message', queueEarly)
    client.on('message', (bytes: Buffer) => screen.send(new Uint8Array(bytes)))
    for (const bytes of early) screen.send(new Uint8Array(bytes))
    if (client.readyState !== WebSocket.OPEN) screen.close()
  } catch (error) {
    // The browser's developer tools show the reason.
    client.close(1011, error instanceof Error ? error.message.slice(0, 100) : '')
  }
}
