import { ApiError, type Permission } from '@computer/sdk'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { createHash, randomUUID, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { openConnection, type Connection, type ConnectionOptions } from './connection.ts'
import { HttpError } from './http-error.ts'
import { createMcpServer, type ServerOptions } from './mcp-server.ts'
import { readRequest, sendResponse } from './web-standard.ts'

export type SessionLimits = {
  /** Default: 100. */
  readonly maxSessions: number
  /** A session without requests for this long is closed. Default: 30 minutes. */
  readonly idleMs: number
}

type Session = {
  readonly connection: Connection
  readonly transport: WebStandardStreamableHTTPServerTransport
  readonly keyHash: Buffer
  /** Requests in flight, including an open event stream. */
  requests: number
  lastUsedAt: number
}

/** The client sessions. Each belongs to the API key that opened it and is served with that key only. */
export class HttpSessions implements AsyncDisposable {
  readonly #options: ServerOptions & Pick<ConnectionOptions, 'baseUrl' | 'guard'>
  readonly #maxSessions: number
  readonly #idleMs: number
  readonly #sessions = new Map<string, Session>()
  readonly #closing = new Set<Promise<void>>()
  #opening = 0
  readonly #sweepTimer: NodeJS.Timeout

  constructor(
    options: ServerOptions & Partial<SessionLimits> & { readonly baseUrl?: string | undefined },
  ) {
    this.#options = options
    this.#maxSessions = options.maxSessions ?? 100
    this.#idleMs = options.idleMs ?? 30 * 60_000
    this.#sweepTimer = setInterval(() => this.#sweep(), Math.min(this.#idleMs / 2, 60_000))
    this.#sweepTimer.unref()
  }

  async serve(request: IncomingMessage, response: ServerResponse, key: string): Promise<void> {
    const id = request.headers['mcp-session-id']
    if (id === undefined) return this.#open(request, response, key)
    const session = typeof id === 'string' ? this.#sessions.get(id) : undefined
    // Do not reveal sessions of other keys.
    if (!session || !timingSafeEqual(session.keyHash, hash(key)))
      throw new HttpError(404, 'session not found; initialize a new one')
    await handle(session, request, response)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#sweepTimer)
    await Promise.all([...this.#sessions.values()].map(({ transport }) => transport.close()))
    await Promise.all(this.#closing)
  }

  async #open(request: IncomingMessage, response: ServerResponse, key: string): Promise<void> {
    if (this.#sessions.size + this.#opening >= this.#maxSessions)
      throw new HttpError(503, 'too many sessions; close one, or try again later')
    this.#opening++
    try {
      const { baseUrl, guard } = this.#options
      const connection = openConnection({ baseUrl, guard, apiKey: key })
      const permissions = await checkKey(connection)
      const transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => void this.#sessions.set(id, session),
      })
      const keyHash = hash(key)
      const session = { connection, transport, keyHash, requests: 0, lastUsedAt: Date.now() }
      const server = createMcpServer(connection, { ...this.#options, permissions })
      server.server.onclose = () => this.#forget(session)
      await server.connect(transport)
      try {
        await handle(session, request, response)
      } finally {
        // No session ID means the request was not an initialization and was refused.
        if (transport.sessionId === undefined) await transport.close()
      }
    } finally {
      this.#opening--
    }
  }

  #forget(session: Session): void {
    const { connection, transport } = session
    if (transport.sessionId !== undefined) this.#sessions.delete(transport.sessionId)
    // Leases that cannot be released expire.
    const closing = connection[Symbol.asyncDispose]().catch(() => {})
    this.#closing.add(closing)
    void closing.then(() => this.#closing.delete(closing))
  }

  #sweep(): void {
    const before = Date.now() - this.#idleMs
    for (const { requests, lastUsedAt, transport } of this.#sessions.values())
      if (requests === 0 && lastUsedAt < before) void transport.close()
  }
}

async function handle(
  session: Session,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  session.requests++
  response.once('close', () => {
    session.requests--
    session.lastUsedAt = Date.now()
  })
  sendResponse(response, await session.transport.handleRequest(await readRequest(request)))
}

/** Resolves to the permissions of the key. */
async function checkKey({ computer }: Connection): Promise<ReadonlySet<Permission>> {
  try {
    return new Set((await computer.me()).permissions)
  } catch (cause) {
    if (cause instanceof ApiError && cause.code === 'unauthenticated')
      throw new HttpError(401, 'invalid API key', { cause })
    throw new HttpError(502, 'the Computer server cannot be reached', { cause })
  }
}

function hash(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}
