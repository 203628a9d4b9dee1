import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { ServerOptions } from './mcp-server.ts'
import { HttpSessions, type SessionLimits } from './http-sessions.ts'
import { waitForShutdown } from './signals.ts'
import { HttpError } from './http-error.ts'

export type HttpOptions = ServerOptions &
  Partial<SessionLimits> & {
    /** See ConnectionOptions. */
    readonly guard?: boolean | undefined
    /** The Computer server. Default: the variable COMPUTER_BASE_URL, else one on this host. */
    readonly baseUrl?: string | undefined
    /** Default: 127.0.0.1. */
    readonly host?: string | undefined
    /** Default: 7090. */
    readonly port?: number | undefined
    /** Host names that clients may use, besides localhost and `host`. */
    readonly allowedHosts?: readonly string[] | undefined
  }

export type HttpServer = AsyncDisposable & { readonly url: string }

/**
 * Serves any number of clients over streamable HTTP at /mcp. Each request carries the client's own API
 * key; the server has none that a stranger could use.
 */
export async function serveHttp(options: HttpOptions = {}): Promise<HttpServer> {
  const { host = '127.0.0.1', port = 7090 } = options
  const sessions = new HttpSessions(options)
  const extraHosts = [inUrl(host), ...(options.allowedHosts ?? [])].map((name) =>
    name.toLowerCase(),
  )
  const hosts = new Set(['localhost', '127.0.0.1', '[::1]', ...extraHosts])
  const http = createServer((request, response) => {
    serve(request, response, sessions, hosts).catch((error: unknown) => sendError(response, error))
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

/** Serves until a termination signal, then releases the mouse and keyboard of every machine. */
export async function runHttp(options: HttpOptions): Promise<void> {
  await using server = await serveHttp(options)
  console.error(`Serving MCP at ${server.url}`)
  await waitForShutdown()
}

const methods = ['GET', 'POST', 'DELETE']

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  sessions: HttpSessions,
  hosts: ReadonlySet<string>,
): Promise<void> {
  if (request.url?.split('?')[0] !== '/mcp')
    throw new HttpError(404, 'not found; the endpoint is /mcp')
  // Blocks DNS rebinding: a page whose host name resolves to us sends that name.
  if (!hosts.has(hostName(request.headers.host)))
    throw new HttpError(403, 'host name not allowed; start the server with --allow-host NAME')
  // Browsers send an Origin header; MCP clients do not.
  if (request.headers.origin !== undefined)
    throw new HttpError(403, 'requests from web pages are refused')
  if (!methods.includes(request.method!))
    throw new HttpError(405, `method not allowed; use ${methods.join(', ')}`)
  const key = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
  if (key === undefined)
    throw new HttpError(401, 'missing API key; send it as "authorization: Bearer KEY"')
  await sessions.serve(request, response, key)
}

function sendError(response: ServerResponse, error: unknown): void {
  const isExpected = error instanceof HttpError
  if (!isExpected) console.error('request failed', error)
  if (response.headersSent) return void response.destroy()
  const status = isExpected ? error.status : 500
  const message = isExpected ? error.message : 'internal error'
  const challenge = status === 401 ? { 'www-authenticate': 'Bearer' } : {}
  const allow = status === 405 ? { allow: methods.join(', ') } : {}
  const retry = status === 503 ? { 'retry-after': '30' } : {}
  // Close the connection, because the rest of the body is not read.
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
