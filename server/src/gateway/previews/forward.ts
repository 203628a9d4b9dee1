import { request as sendRequest, type ClientRequest, type IncomingMessage } from 'node:http'
import type { ServerResponse } from 'node:http'
import { callbackify } from 'node:util'
import type { PreviewTarget } from '../../domain/previews/hosts.ts'
import { GuestRefusal, GuestUnavailable } from '../../guest/errors.ts'
import { requestHeaders, responseHeaders } from './headers.ts'
import { sendPage } from './pages.ts'
import { hasBody } from './validate-request.ts'
import type { PortConnections } from './port-connections.ts'

/** A visitor's request with its answer, and what is known of both. */
export type ProxiedRequest = {
  readonly target: PreviewTarget
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** As the visitor wrote it, and where they are. */
  readonly host: string
  readonly client: string
  /** Told of the bytes that go out. */
  readonly served: (bytes: number) => void
}

const maxHeaderSize = 16 * 1024
/** What is small goes out in one piece with its head. */
const smallBytes = 64 * 1024

/**
 * Passes a request on and its answer back, both as streams. One that only reads takes an idle
 * connection, and is sent again over a new one if the server had just closed that. Any other, which
 * must not be sent twice, gets a connection of its own.
 */
export function forward(ports: PortConnections, proxied: ProxiedRequest): void {
  const { target, request, response } = proxied
  if (hasBody(request) || !isRead(request)) {
    const upstream = openAnew(ports, proxied)
    // A server may answer the head, before there is a body or instead of it.
    upstream.flushHeaders()
    request.pipe(upstream)
    request.once('error', () => upstream.destroy())
    follow(proxied, upstream, (error) => sendFailure(response, error))
    return
  }
  const upstream = open(proxied, { agent: ports.agentOf(target) })
  upstream.end()
  follow(proxied, upstream, (error) => {
    if (!upstream.reusedSocket || response.destroyed) return sendFailure(response, error)
    const again = openAnew(ports, proxied)
    again.end()
    follow(proxied, again, (failure) => sendFailure(response, failure))
  })
}

/** Over a connection that serves this request alone. */
function openAnew(ports: PortConnections, proxied: ProxiedRequest): ClientRequest {
  const way = { createConnection: connector(ports, proxied.target) }
  return open(proxied, way, [...framing(proxied.request), 'connection', 'close'])
}

/** What node's client takes for a way to a connection. */
export function connector(ports: PortConnections, target: PreviewTarget) {
  const connect = callbackify(() => ports.open(target))
  return (_options: unknown, done: Parameters<typeof connect>[0]): undefined => {
    connect(done)
  }
}

export function open(
  { request, host, client }: ProxiedRequest,
  way: object,
  extra: readonly string[] = framing(request),
): ClientRequest {
  return sendRequest({
    ...way,
    method: request.method,
    path: request.url,
    headers: [...requestHeaders(request, { host, client }), ...extra],
    maxHeaderSize,
    insecureHTTPParser: false,
    setHost: false,
  })
}

/** The answer goes to the visitor, or what failed before there was one to `fail`, once. */
export function follow(
  { request, response, served }: ProxiedRequest,
  upstream: ClientRequest,
  fail: (error: Error) => void,
): void {
  let [isAnswered, hasFailed] = [false, false]
  const failOnce = (error: Error) => {
    if (!hasFailed) fail(error)
    hasFailed = true
  }
  upstream.on('error', (error) => {
    if (isAnswered) response.destroy()
    else failOnce(error)
  })
  if (upstream.listenerCount('upgrade') === 0) {
    upstream.once('upgrade', (_answer, stream) => {
      stream.destroy()
      failOnce(new Error('the server switched to another protocol, unasked'))
    })
  }
  upstream.once('response', (answer) => {
    isAnswered = true
    sendAnswer(response, answer, served)
    answer.once('close', () => {
      // A server that never ends its side of a last answer is not waited for.
      if (!upstream.shouldKeepAlive) answer.socket.destroy()
    })
  })
  response.once('close', () => {
    if (!response.writableFinished) upstream.destroy()
    // The rest of an upload that was answered early: behind it comes the next request.
    if (!request.complete) request.unpipe(upstream).resume()
  })
}

export function sendFailure(response: ServerResponse, error: Error): void {
  if (error instanceof GuestUnavailable) {
    sendPage(response, 503, 'The machine behind this address does not answer just now.', {
      'retry-after': '2',
    })
  } else if (error instanceof GuestRefusal) {
    sendPage(response, 502, 'Nothing listens at the port behind this address.')
  } else {
    sendPage(response, 502, 'What listens behind this address gave no answer that makes sense.')
  }
}

function sendAnswer(
  response: ServerResponse,
  answer: IncomingMessage,
  served: (bytes: number) => void,
): void {
  if (response.headersSent || response.destroyed) {
    answer.destroy()
    return
  }
  answer.on('error', () => response.destroy())
  answer.on('data', (chunk: Buffer) => served(chunk.length))
  try {
    response.writeHead(answer.statusCode ?? 502, responseHeaders(answer.rawHeaders))
  } catch {
    answer.destroy()
    sendPage(response, 502, 'What listens behind this address gave no answer that makes sense.')
    return
  }
  const length = Number(answer.headers['content-length'] ?? Infinity)
  // An answer that goes on, such as a stream of events, is announced before its first byte.
  if (length > smallBytes) response.flushHeaders()
  answer.pipe(response)
}

function isRead({ method = '' }: IncomingMessage): boolean {
  return ['GET', 'HEAD', 'OPTIONS'].includes(method)
}

function framing({ method = '', headersDistinct: headers }: IncomingMessage): string[] {
  if (headers['transfer-encoding']) return ['transfer-encoding', 'chunked']
  const length = headers['content-length']?.[0]
  if (length !== undefined) return ['content-length', length]
  return ['POST', 'PUT', 'PATCH'].includes(method) ? ['content-length', '0'] : []
}
