import { createServer, ServerResponse, type IncomingMessage, type ServerOptions } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { App } from '../../app.ts'
import type { PreviewDomain } from '../../domain/previews/hosts.ts'
import { endConnection } from '../../end-connection.ts'
import { openCertificates } from './certificates.ts'
import { isUpgrade } from './validate-request.ts'
import { plainAddress, type TrustedProxies } from './trusted-proxies.ts'

/** A request that has arrived, with its socket if it is a WebSocket handshake. */
export type PreviewRequest = {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly upgrade: { readonly socket: Socket; readonly head: Buffer } | null
}

/** Strict parsing and header limits, but no limit on the duration of a request: it may stream. */
const httpOptions: ServerOptions = {
  insecureHTTPParser: false,
  requireHostHeader: true,
  maxHeaderSize: 16 * 1024,
  headersTimeout: 10_000,
  requestTimeout: 0,
  keepAliveTimeout: 72_000,
  shouldUpgradeCallback: isUpgrade,
}

export async function listen(
  app: Pick<App, 'config' | 'log'>,
  domain: PreviewDomain,
  proxies: TrustedProxies,
  handle: (incoming: PreviewRequest) => void,
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const certificates = await openCertificates(app, domain)
  const server = certificates
    ? createTlsServer({ ...httpOptions, ...certificates.options })
    : createServer(httpOptions)
  if ('setSecureContext' in server) certificates?.serve(server)
  // Unlimited here: Node would drop headers, validateRequest refuses the request.
  server.maxHeadersCount = 0
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    // Without TLS, accept only the proxy that terminates it.
    if (!certificates && !proxies.has(plainAddress(socket.remoteAddress))) return socket.destroy()
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.on('request', (request, response) => handle({ request, response, upgrade: null }))
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on('error', () => socket.destroy())
    // Any other response than the accepted handshake is sent as usual and closes the connection.
    const response = new ServerResponse(request)
    response.shouldKeepAlive = false
    response.assignSocket(socket)
    response.once('finish', () => endConnection(socket))
    handle({ request, response, upgrade: { socket, head } })
  })
  server.on('clientError', refuseBrokenHttp)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: app.config.bind, port: domain.port }, resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      certificates?.[Symbol.dispose]()
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

/** Malformed HTTP never becomes a request. */
function refuseBrokenHttp(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable) return
  const status =
    error.code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request'
  endConnection(socket, `HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`)
}
