import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { ServerOptions } from './mcp-server.ts'
import { HttpSessions, type SessionLimits } from './http-sessions.ts'
import { toldToEnd } from './ending.ts'
import { HttpRefusal } from './http-refusal.ts'

export type HttpOptions = ServerOptions &
  Partial<SessionLimits> & {
    /** The Computer server. Default: the variable COMPUTER_BASE_URL, else one on this host. */
    readonly baseUrl?: string | undefined
    /** Default: 127.0.0.1. */
    readonly host?: string | undefined
    /** Default: 7090. */
    readonly port?: number | undefined
    /** Names that clients reach this server by, beside localhost and `host`. */
    readonly allowedHosts?: readonly string[] | undefined
  }

export type HttpServer = AsyncDisposable & { readonly url: string }

/**
 * Serves any number of clients over streamable HTTP at /mcp. Each brings the API key that is used for it:
 * there is none of our own that a stranger could act with.
 */
export async function serveHttp(options: HttpOptions = {}): Promise<HttpServer> {
  const { host = '127.0.0.1', port = 7090 } = options
  const sessions = new HttpSessions(options)
  const named = [inUrl(host), ...(options.allowedHosts ?? [])].map((name) => name.toLowerCase())
  const hosts = new Set(['localhost', '127.0.0.1', '[::1]', ...named])
  const http = createServer((request, response) => {
    serve(request, response, sessions, hosts).catch((error: unknown) => refuse(response, error))
  })
  http.listen(port, host)
  await once(http, 'listening')
  const { port: bound } = http.address() as AddressInfo
  return {
    url: `http://${inUrl(host)}:${bound}/mcp`,
    async [Symbol.asyncDispose]() {
      http.close()
      await sessions[Symbol.asyncDispose]()
      http.closeAllConnections()
    },
  }
}

/** Serves until the process is told to end, and hands every machine back then. */
export async function runHttp(options: HttpOptions): Promise<void> {
  await using server = await serveHttp(options)
  console.error(`Serving MCP at ${server.url}`)
  await toldToEnd()
}

const methods = ['GET', 'POST', 'DELETE']

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  sessions: HttpSessions,
  hosts: ReadonlySet<string>,
): Promise<void> {
  if (request.url?.split('?')[0] !== '/mcp') throw new HttpRefusal(404, 'the endpoint is /mcp')
  // A page of another site that had its name point here would say that name.
  if (!hosts.has(hostName(request.headers.host)))
    throw new HttpRefusal(
      403,
      'this host name is not one of this server: allow it when you start it',
    )
  // Only pages send an origin, and no page is a client.
  if (request.headers.origin !== undefined)
    throw new HttpRefusal(403, 'requests from web pages are refused')
  if (!methods.includes(request.method!)) throw new HttpRefusal(405, `send ${methods.join(', ')}`)
  const key = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
  if (key === undefined)
    throw new HttpRefusal(401, 'send your API key, as "authorization: Bearer KEY"')
  await sessions.serve(request, response, key)
}

function refuse(response: ServerResponse, error: unknown): void {
  const known = error instanceof HttpRefusal
  if (!known) console.error('a request failed', error)
  if (response.headersSent) return void response.destroy()
  const status = known ? error.status : 500
  const message = known ? error.message : 'this server failed'
  const challenge = status === 401 ? { 'www-authenticate': 'Bearer' } : {}
  const allow = status === 405 ? { allow: methods.join(', ') } : {}
  const retry = status === 503 ? { 'retry-after': '30' } : {}
  // What is left of the body is not read.
  const headers = {
    'content-type': 'application/json',
    connection: 'close',
    ...challenge,
    ...allow,
    ...retry,
  }
  const body = { jsonrpc: '2.0', error: { code: -32000, message }, id: null }
  response.writeHead(status, headers).end(JSON.stringify(body))
}

function hostName(header: string | undefined): string {
  const url = `http://${header ?? ''}`
  return URL.canParse(url) ? new URL(url).hostname : ''
}

function inUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
