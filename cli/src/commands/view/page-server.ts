import type { Machine } from '@computer/sdk'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocketServer, type WebSocket } from 'ws'
import { endedCode, page, readViewer, script } from './page.ts'
import { pointersFile, pointersScript } from './page-pointers.ts'
import { interruptions, relay } from './relay.ts'

/** Time limit for each page to receive the reason, which includes the pause before it reconnects. */
const closeTimeoutMs = 5_000
const pollMs = 20

/**
 * Serves a page with the screen of a machine on the loopback address. The URL holds a secret, and
 * requests with another Host or Origin are refused, so that no web page can reach it.
 */
export async function openView(machine: Machine, options: { readonly canControl: boolean }) {
  const secret = randomBytes(16).toString('hex')
  const viewer = await readViewer()
  const files: Readonly<Record<string, readonly [type: string, text: string]>> = {
    [`/${secret}/`]: ['text/html', page(machine.name)],
    [`/${secret}/view.js`]: ['text/javascript', script],
    [`/${secret}/${pointersFile}`]: ['text/javascript', pointersScript],
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
    sockets.handleUpgrade(request, socket, head, welcome)
  })
  /** How many pages are between two connections. */
  let away = 0
  let ending: string | undefined
  const welcome = (client: WebSocket) => {
    away = Math.max(0, away - 1)
    client.once('close', (code) => {
      if (interruptions.has(code)) away++
    })
    if (ending === undefined) void relay(machine, client, options)
    else client.close(endedCode, ending)
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: `http://${host}/${secret}/`,
    /** Ends the view; its open pages show the reason. */
    async close(reason: string) {
      ending = reason
      for (const client of sockets.clients) client.close(endedCode, reason)
      const deadline = Date.now() + closeTimeoutMs
      while ((sockets.clients.size > 0 || away > 0) && Date.now() < deadline) await sleep(pollMs)
      server.close()
      for (const client of sockets.clients) client.terminate()
      server.closeAllConnections()
    },
  }
}

const headers = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; connect-src 'self'; img-src data: blob:; style-src 'unsafe-inline'; frame-ancestors 'none'",
}
