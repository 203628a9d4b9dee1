import { errorStatus } from '@computer/contract/errors'
import { close, createReadStream } from 'node:fs'
import {
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import { pipeline, Readable } from 'node:stream'
import { AgentError } from './errors.ts'

/** One request. `signal` aborts when the caller goes away before the response. */
type RouteRequest = {
  readonly query: Readonly<Record<string, string>>
  readonly body: Readable
  /** Ask after the body's end: a stream that was cut off ends like a complete one. */
  readonly isBodyComplete: () => boolean
  readonly signal: AbortSignal
}

/**
 * JSON, bytes in memory, chunks as they are made, a range of an open file (closed afterwards), or a stream
 * that stays open both ways (contract, guest-streams.ts), which `duplex` gets once the response headers are
 * sent.
 */
type RouteResponse =
  | { readonly json: unknown }
  | { readonly duplex: (stream: ServerHttp2Stream) => void }
  | { readonly bytes: Buffer; readonly headers: Record<string, string> }
  | { readonly chunks: AsyncIterable<Buffer>; readonly headers: Record<string, string> }
  | {
      readonly fd: number
      readonly offset: number
      readonly length: number
      readonly headers: Record<string, string>
    }

export type Route = (request: RouteRequest) => Promise<RouteResponse>
/** Keyed by method and path: `GET /health`. */
export type Routes = ReadonlyMap<string, Route>

export function createAgentServer(routes: Routes): Http2Server {
  const server = createServer({
    settings: { initialWindowSize: windowBytes, maxFrameSize: 256 * 1024 },
    // In megabytes: a session that buffers more is dropped.
    maxSessionMemory: 128,
  })
  server.on('session', (session) => session.setLocalWindowSize(4 * windowBytes))
  server.on('sessionError', () => {})
  server.on('stream', (stream, headers) => {
    // A caller that goes away is no error: `signal` notifies the route.
    stream.on('error', () => {})
    serve(routes, stream, headers).catch((error: unknown) => respondWithError(stream, error))
  })
  return server
}

const windowBytes = 4 * 1024 * 1024
/** Read from a file at a time. */
const pieceBytes = 256 * 1024

async function serve(
  routes: Routes,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
): Promise<void> {
  const method = headers[':method'] ?? 'GET'
  const [path = '', search = ''] = (headers[':path'] ?? '/').split('?', 2)
  const route = routes.get(`${method} ${path}`)
  if (!route) throw new AgentError('not_found', `the agent has no route ${method} ${path}`)

  const gone = new AbortController()
  stream.once('close', () => gone.abort())
  const query = Object.fromEntries(new URLSearchParams(search))
  const isBodyComplete = () => !stream.aborted && !stream.closed && !stream.destroyed
  respond(stream, await route({ query, body: stream, isBodyComplete, signal: gone.signal }))
}

function respond(stream: ServerHttp2Stream, result: RouteResponse): void {
  if ('fd' in result) return respondWithFile(stream, result)
  if ('duplex' in result) {
    if (!stream.destroyed) stream.respond({ ':status': 200 })
    return result.duplex(stream)
  }
  if ('chunks' in result) return respondWithChunks(stream, result)
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

type FileResponse = Extract<RouteResponse, { fd: number }>

function respondWithFile(stream: ServerHttp2Stream, file: FileResponse): void {
  if (stream.destroyed) return close(file.fd)
  const headers = {
    ':status': 200,
    'content-type': 'application/octet-stream',
    ...file.headers,
    // Tells a caller whose connection breaks off that bytes are missing.
    'content-length': file.length,
  }
  stream.respond(headers)
  if (file.length === 0) {
    close(file.fd)
    stream.end()
    return
  }
  // respondWithFD ends the process with SIGSEGV when the stream is reset while a read is under way.
  const { fd, offset, length } = file
  const range = { fd, start: offset, end: offset + length - 1, highWaterMark: pieceBytes }
  pipeline(createReadStream('', range), stream, () => {})
}

type ChunksResponse = Extract<RouteResponse, { chunks: unknown }>

/** An error ends the stream with a reset. Chunks that nobody takes any more are not made. */
function respondWithChunks(stream: ServerHttp2Stream, { chunks, headers }: ChunksResponse): void {
  if (!stream.destroyed) stream.respond({ ':status': 200, ...headers })
  pipeline(Readable.from(chunks, { objectMode: false }), stream, () => {})
}

function respondWithError(stream: ServerHttp2Stream, error: unknown): void {
  const agentError =
    error instanceof AgentError
      ? error
      : new AgentError('internal_error', 'the agent failed', { cause: error })
  if (agentError.code === 'internal_error') console.error('request failed', error)
  if (stream.destroyed) return
  if (stream.headersSent) {
    stream.destroy()
    return
  }

  const { code, message, reason } = agentError
  const bytes = Buffer.from(JSON.stringify({ error: { code, message, ...(reason && { reason }) } }))
  stream.respond({
    ':status': errorStatus[code],
    'content-type': 'application/json',
    'content-length': bytes.length,
  })
  stream.end(bytes)
}
