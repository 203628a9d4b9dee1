import { close } from 'node:fs'
import {
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import type { Readable } from 'node:stream'
import { Refusal } from './refusal.ts'

/** One request. `signal` aborts when the caller goes away before the answer. */
export type Call = {
  readonly query: Readonly<Record<string, string>>
  readonly body: Readable
  /** Whether the body that has ended did so by the caller's will: a cut stream ends all the same. */
  readonly isBodyWhole: () => boolean
  readonly signal: AbortSignal
}

/**
 * What a route answers: JSON, bytes held in memory, a range of an open file, closed after it, or a
 * stream that stays open both ways (contract, guest-streams.ts): `duplex` is given it once the caller
 * has been told that it is.
 */
export type Answer =
  | { readonly json: unknown }
  | { readonly duplex: (stream: ServerHttp2Stream) => void }
  | { readonly bytes: Buffer; readonly headers: Record<string, string> }
  | {
      readonly fd: number
      readonly offset: number
      readonly length: number
      readonly headers: Record<string, string>
    }

export type Route = (call: Call) => Promise<Answer>
/** By method and path: `GET /health`. */
export type Routes = ReadonlyMap<string, Route>

export type Serving = {
  /** Answered here, so that it does not wait for the routes to be loaded. */
  readonly readHealth: () => unknown
  readonly loadRoutes: () => Promise<Routes>
}

export function createAgentServer(serving: Serving): Http2Server {
  const server = createServer({
    settings: { initialWindowSize: windowBytes, maxFrameSize: 256 * 1024 },
    // In megabytes: what may wait in one session before it is dropped.
    maxSessionMemory: 128,
  })
  server.on('session', (session) => session.setLocalWindowSize(4 * windowBytes))
  server.on('sessionError', () => {})
  server.on('stream', (stream, headers) => {
    // A caller that goes away is no news: `signal` tells the route.
    stream.on('error', () => {})
    serve(serving, stream, headers).catch((error: unknown) => answerError(stream, error))
  })
  return server
}

const windowBytes = 4 * 1024 * 1024

async function serve(
  serving: Serving,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
): Promise<void> {
  const method = headers[':method'] ?? 'GET'
  const [path = '', search = ''] = (headers[':path'] ?? '/').split('?', 2)
  if (method === 'GET' && path === '/health') return answer(stream, { json: serving.readHealth() })

  const routes = await serving.loadRoutes()
  const route = routes.get(`${method} ${path}`)
  if (!route) throw new Refusal('not_found', `the agent has no route ${method} ${path}`)

  const gone = new AbortController()
  stream.once('close', () => gone.abort())
  const query = Object.fromEntries(new URLSearchParams(search))
  const isBodyWhole = () => !stream.aborted && !stream.closed && !stream.destroyed
  answer(stream, await route({ query, body: stream, isBodyWhole, signal: gone.signal }))
}

function answer(stream: ServerHttp2Stream, result: Answer): void {
  if ('fd' in result) return answerFile(stream, result)
  if ('duplex' in result) {
    if (!stream.destroyed) stream.respond({ ':status': 200 })
    return result.duplex(stream)
  }
  if (stream.destroyed) return
  const bytes = 'json' in result ? Buffer.from(JSON.stringify(result.json)) : result.bytes
  stream.respond({
    ':status': 200,
    'content-type': 'application/json',
    ...('headers' in result && result.headers),
    'content-length': bytes.length,
  })
  stream.end(bytes)
}

function answerFile(stream: ServerHttp2Stream, file: Extract<Answer, { fd: number }>): void {
  if (stream.destroyed) return close(file.fd)
  stream.once('close', () => close(file.fd))
  const headers = {
    ':status': 200,
    'content-type': 'application/octet-stream',
    ...file.headers,
    // Tells a caller whose connection breaks off that bytes are missing.
    'content-length': file.length,
  }
  if (file.length === 0) {
    stream.respond(headers)
    stream.end()
    return
  }
  stream.respondWithFD(file.fd, headers, { offset: file.offset, length: file.length })
}

async function answerError(stream: ServerHttp2Stream, error: unknown): Promise<void> {
  const refusal =
    error instanceof Refusal
      ? error
      : new Refusal('internal_error', 'the agent failed', { cause: error })
  if (refusal.code === 'internal_error') console.error('request failed', error)
  if (stream.destroyed) return
  if (stream.headersSent) {
    stream.destroy()
    return
  }

  const { errorStatus } = await import('@computer/contract/errors')
  const { code, message, reason } = refusal
  const bytes = Buffer.from(JSON.stringify({ error: { code, message, ...(reason && { reason }) } }))
  stream.respond({
    ':status': errorStatus[code],
    'content-type': 'application/json',
    'content-length': bytes.length,
  })
  stream.end(bytes)
}
