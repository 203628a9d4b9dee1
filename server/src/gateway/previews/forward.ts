import {
  request as sendRequest,
  type Agent,
  type ClientRequest,
  type IncomingMessage,
} from 'node:http'
import type { ServerResponse } from 'node:http'
import { callbackify } from 'node:util'
import type { PreviewTarget } from '../../domain/previews/hosts.ts'
import { GuestRefusal, GuestUnavailable } from '../../guest/errors.ts'
import { requestHeaders, responseHeaders } from './headers.ts'
import { sendPage } from './pages.ts'
import { hasBody } from './validate-request.ts'
import type { PortConnections } from './port-connections.ts'

/** A request to be forwarded to the port behind its preview. */
export type ProxiedRequest = {
  readonly target: PreviewTarget
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** The Host header as the client sent it. */
  readonly host: string
  /** The client's address. */
  readonly client: string
  /** Counts bytes sent to the client. */
  readonly countServed: (bytes: number) => void
}

const maxHeaderSize = 16 * 1024
/** Smaller bodies are sent together with their head. */
const smallBytes = 64 * 1024

/**
 * Streams a request to the port and the response back. A read reuses an idle connection, and is retried
 * over a new one if the server had just closed that. Any other request must not be sent twice, so it
 * gets a connection of its own.
 */
export function forward(ports: PortConnections, proxied: ProxiedRequest): void {
  const { target, request, response } = proxied
  if (hasBody(request) || !isRetryable(request)) {
    const upstream = openAlone(ports, proxied)
    // The server may respond to the head before there is a body, or instead of reading one.
    upstream.flushHeaders()
    request.pipe(upstream)
    request.once('error', () => upstream.destroy())
    relay(proxied, upstream, (error) => sendFailure(response, error))
    return
  }
  const upstream = open(proxied, { agent: ports.agentOf(target) })
  upstream.end()
  relay(proxied, upstream, (error) => {
    if (!upstream.reusedSocket || response.destroyed) return sendFailure(response, error)
    const retry = openAlone(ports, proxied)
    retry.end()
    relay(proxied, retry, (failure) => sendFailure(response, failure))
  })
}

/** Uses a new connection for this request alone. */
function openAlone(ports: PortConnections, proxied: ProxiedRequest): ClientRequest {
  const connection = { createConnection: connector(ports, proxied.target) }
  return open(proxied, connection, [...framing(proxied.request), 'connection', 'close'])
}

/** For `createConnection` of Node's HTTP client. */
export function connector(ports: PortConnections, target: PreviewTarget) {
  const connect = callbackify(() => ports.open(target))
  return (_options: unknown, done: Parameters<typeof connect>[0]): undefined => {
    connect(done)
  }
}

export function open(
  { request, host, client }: ProxiedRequest,
  connection: { agent: Agent } | { createConnection: ReturnType<typeof connector> },
  extra: readonly string[] = framing(request),
): ClientRequest {
  return sendRequest({
    ...connection,
    method: request.method,
    path: request.url,
    headers: [...requestHeaders(request, { host, client }), ...extra],
    maxHeaderSize,
    insecureHTTPParser: false,
    setHost: false,
  })
}

/** Sends the response to the client. A failure before there is one goes to `fail`, once. */
export function relay(
  { request, response, countServed }: ProxiedRequest,
  upstream: ClientRequest,
  fail: (error: Error) => void,
): void {
  let [hasResponse, hasFailed] = [false, false]
  const failOnce = (error: Error) => {
    if (!hasFailed) fail(error)
    hasFailed = true
  }
  upstream.on('error', (error) => {
    if (hasResponse) response.destroy()
    else failOnce(error)
  })
  if (upstream.listenerCount('upgrade') === 0) {
    upstream.once('upgrade', (_answer, stream) => {
      stream.destroy()
      failOnce(new Error('the server switched protocols unasked'))
    })
  }
  upstream.once('response', (answer) => {
    hasResponse = true
    sendAnswer(response, answer, countServed)
    answer.once('close', () => {
      // The server may never close its side of a connection that is not reused.
      if (!upstream.shouldKeepAlive) answer.socket.destroy()
    })
  })
  response.once('close', () => {
    if (!response.writableFinished) upstream.destroy()
    // Drain an upload that was answered early, because the next request follows it.
    if (!request.complete) request.unpipe(upstream).resume()
  })
}

export function sendFailure(response: ServerResponse, error: Error): void {
  if (error instanceof GuestUnavailable) {
    sendPage(response, 503, 'The machine behind this address is not responding.', {
      'retry-after': '2',
    })
  } else if (error instanceof GuestRefusal) {
    sendPage(response, 502, 'Nothing is listening on the port behind this address.')
  } else {
    sendPage(response, 502, 'The server behind this address sent no valid response.')
  }
}

function sendAnswer(
  response: ServerResponse,
  answer: IncomingMessage,
  countServed: (bytes: number) => void,
): void {
  if (response.headersSent || response.destroyed) {
    answer.destroy()
    return
  }
  answer.on('error', () => response.destroy())
  answer.on('data', (chunk: Buffer) => countServed(chunk.length))
  try {
    response.writeHead(answer.statusCode ?? 502, responseHeaders(answer.rawHeaders))
  } catch {
    answer.destroy()
    sendPage(response, 502, 'The server behind this address sent no valid response.')
    return
  }
  const length = Number(answer.headers['content-length'] ?? Infinity)
  // A stream, such as server-sent events, needs its head before its first byte.
  if (length > smallBytes) response.flushHeaders()
  answer.pipe(response)
}

function isRetryable({ method = '' }: IncomingMessage): boolean {
  return ['GET', 'HEAD', 'OPTIONS'].includes(method)
}

function framing({ method = '', headersDistinct: headers }: IncomingMessage): string[] {
  if (headers['transfer-encoding']) return ['transfer-encoding', 'chunked']
  const length = headers['content-length']?.[0]
  if (length !== undefined) return ['content-length', length]
  return ['POST', 'PUT', 'PATCH'].includes(method) ? ['content-length', '0'] : []
}
