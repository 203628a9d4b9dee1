import { createServer, ServerResponse, type IncomingMessage, type ServerOptions } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { App } from '../../app.ts'
import type { PreviewDomain } from '../../domain/previews/hosts.ts'
import { openCertificates } from './certificates.ts'
import { isUpgrade } from './validate-request.ts'
import { plain, type TrustedProxies } from './trusted-proxies.ts'

/** A request of a visitor, and its socket where it is a handshake. */
export type PreviewRequest = {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly upgrade: { readonly socket: Socket; readonly head: Buffer } | null
}

/** Strict about what a request is; patient with what one takes, be it an upload or a stream of events. */
const httpOptions: ServerOptions = {
  insecureHTTPParser: false,
  requireHostHeader: true,
  maxHeaderSize: 16 * 1024,
  headersTimeout: 10_000,
  requestTimeout: 0,
  keepAliveTimeout: 72_000,
  shouldUpgradeCallback: isUpgrade,
}

/** The port of previews, from now until it is closed. */
export async function listen(
  app: Pick<App, 'config' | 'log'>,
  domain: PreviewDomain,
  proxies: TrustedProxies,
  take: (incoming: PreviewRequest) => void,
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const certificates = await openCertificates(app, domain)
  const server = certificates
    ? createTlsServer({ ...httpOptions, ...certificates.options })
    : createServer(httpOptions)
  if ('setSecureContext' in server) certificates?.serve(server)
  // Too many headers are refused later, rather than some of them dropped.
  server.maxHeadersCount = 0
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    // Without a certificate nobody is spoken to but the proxy that has one.
    if (!certificates && !proxies.has(plain(socket.remoteAddress))) return socket.destroy()
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.on('request', (request, response) => take({ request, response, upgrade: null }))
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on('error', () => socket.destroy())
    // What is no acceptance of the handshake is answered as any request is, and ends the connection.
    const response = new ServerResponse(request)
    response.shouldKeepAlive = false
    response.assignSocket(socket)
    response.once('finish', () => socket.end())
    take({ request, response, upgrade: { socket, head } })
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

/** What is not HTTP never becomes a request. */
function refuseBrokenHttp(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable) return void socket.destroy()
  const status =
    error.code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request'
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`, () =>
    socket.destroy(),
  )
}
