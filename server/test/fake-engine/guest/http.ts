import { randomUUID } from 'node:crypto'
import { errorStatus } from '@computer/contract'
import {
  constants,
  performServerHandshake,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { Readable, type Duplex } from 'node:stream'
import { z } from 'zod'
import { GuestFault } from './fault.ts'

const pieceBytes = 256 * 1024

type GuestCall = { readonly query: Record<string, string>; readonly body: Buffer }

type GuestReply = {
  readonly headers?: Record<string, string | number>
  readonly body: Buffer
}

/** Keyed by method and path: `GET /health`. */
export type GuestHandlers = Record<string, GuestHandler | GuestStreamHandler>
type GuestHandler = (call: GuestCall) => GuestReply | Promise<GuestReply>
/** A stream that stays open both ways: `admit` returns what takes it over after the response head. */
type GuestStreamHandler = {
  readonly admit: (query: Record<string, string>) => (stream: ServerHttp2Stream) => void
}

export type ServeOptions = {
  /** Awaited before each request is handled. */
  readonly waitUntilAwake: () => Promise<void> | undefined
  /** Answers the requests that have no handler. */
  readonly forward: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => Promise<void>
}

/**
 * Opens a connection whose other end is served as HTTP/2. It is a pair of sockets and not of streams in
 * memory: these have no buffer between them, so that two sides that write at once wait for each other.
 */
export async function serve(
  handlers: GuestHandlers,
  options: ServeOptions,
): Promise<{ caller: Duplex; session: ServerHttp2Session }> {
  const [caller, agent] = await socketPair()
  const session = performServerHandshake(agent, {
    settings: { initialWindowSize: 2 * 1024 * 1024, maxConcurrentStreams: 1024 },
    maxSessionMemory: 128,
  })
  session.on('error', () => {})
  session.on('stream', (stream, headers) => void answer(handlers, options, stream, headers))
  caller.on('error', () => {})
  agent.on('error', () => {})
  session.once('close', () => caller.destroy())
  return { caller, session }
}

async function socketPair(): Promise<[Socket, Socket]> {
  const listener = createServer()
  // A name of the abstract namespace leaves no file behind.
  listener.listen(`\0computer-fake-guest-${randomUUID()}`)
  await once(listener, 'listening')
  const accepted = once(listener, 'connection')
  const caller = connect(listener.address() as string)
  const [[agent]] = (await Promise.all([accepted, once(caller, 'connect')])) as [[Socket], unknown]
  listener.close()
  return [caller, agent]
}

export function json(value: unknown): GuestReply {
  return {
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(value)),
  }
}

export function parse<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw new GuestFault('invalid_request', z.prettifyError(result.error))
}

export function parseJson<S extends z.ZodType>(schema: S, body: Buffer): z.output<S> {
  let value: unknown
  try {
    value = JSON.parse(body.toString())
  } catch {
    throw new GuestFault('invalid_request', 'the body is not JSON')
  }
  return parse(schema, value)
}

async function answer(
  handlers: GuestHandlers,
  { waitUntilAwake, forward }: ServeOptions,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
): Promise<void> {
  stream.on('error', () => {})
  const url = new URL(headers[':path'] ?? '/', 'http://guest')
  await waitUntilAwake()
  try {
    const handler = handlers[`${headers[':method']} ${url.pathname}`]
    if (!handler) return await forward(stream, headers)
    const query = Object.fromEntries(url.searchParams)
    if (typeof handler !== 'function') {
      const use = handler.admit(query)
      stream.respond({ [constants.HTTP2_HEADER_STATUS]: 200 })
      return use(stream)
    }
    const body = await readAll(stream)
    send(stream, 200, await handler({ query, body }))
  } catch (error) {
    const fault =
      error instanceof GuestFault ? error : new GuestFault('internal_error', String(error))
    const { code, message, reason } = fault
    send(stream, errorStatus[code], json({ error: { code, message, reason } }))
  }
}

async function readAll(stream: ServerHttp2Stream): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) chunks.push(chunk)
  return Buffer.concat(chunks)
}

function send(stream: ServerHttp2Stream, status: number, { headers, body }: GuestReply): void {
  if (stream.destroyed || stream.closed) return
  stream.respond({
    ...headers,
    [constants.HTTP2_HEADER_STATUS]: status,
    'content-length': body.length,
  })
  // Sent in pieces, so that a session does not buffer large bodies for clients that do not read.
  Readable.from(piecesOf(body)).pipe(stream)
}

function* piecesOf(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length; at += pieceBytes) yield body.subarray(at, at + pieceBytes)
}
