import { ApiError } from '@computer/sdk'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { createHash, randomUUID, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { openConnection, type Connection } from './connection.ts'
import { HttpRefusal } from './http-refusal.ts'
import { createMcpServer, type ServerOptions } from './mcp-server.ts'
import { readRequest, sendAnswer } from './web-standard.ts'

export type SessionLimits = {
  /** Default: 100. */
  readonly maxSessions: number
  /** A session without a request for so long ends. Default: 30 minutes. */
  readonly idleMs: number
}

type Session = {
  readonly connection: Connection
  readonly transport: WebStandardStreamableHTTPServerTransport
  readonly keyHash: Buffer
  /** Requests under way, an open stream of the client's among them. */
  requests: number
  lastUsedAt: number
}

/**
 * The sessions of the clients: each has a connection of its own, over the key that opened it, and is
 * found only with that key again.
 */
export class HttpSessions implements AsyncDisposable {
  readonly #options: ServerOptions & { readonly baseUrl?: string | undefined }
  readonly #maxSessions: number
  readonly #idleMs: number
  readonly #sessions = new Map<string, Session>()
  readonly #ending = new Set<Promise<void>>()
  #opening = 0
  readonly #sweeping: NodeJS.Timeout

  constructor(
    options: ServerOptions & Partial<SessionLimits> & { readonly baseUrl?: string | undefined },
  ) {
    this.#options = options
    this.#maxSessions = options.maxSessions ?? 100
    this.#idleMs = options.idleMs ?? 30 * 60_000
    this.#sweeping = setInterval(() => this.#sweep(), Math.min(this.#idleMs / 2, 60_000))
    this.#sweeping.unref()
  }

  async serve(request: IncomingMessage, response: ServerResponse, key: string): Promise<void> {
    const id = request.headers['mcp-session-id']
    if (id === undefined) return this.#open(request, response, key)
    const session = typeof id === 'string' ? this.#sessions.get(id) : undefined
    // Whose session it is, is nobody else's business.
    if (!session || !timingSafeEqual(session.keyHash, hash(key)))
      throw new HttpRefusal(404, 'there is no such session: initialize another')
    await handle(session, request, response)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#sweeping)
    await Promise.all([...this.#sessions.values()].map(({ transport }) => transport.close()))
    await Promise.all(this.#ending)
  }

  async #open(request: IncomingMessage, response: ServerResponse, key: string): Promise<void> {
    if (this.#sessions.size + this.#opening >= this.#maxSessions)
      throw new HttpRefusal(503, 'too many sessions are open: end one, or try again later')
    this.#opening++
    try {
      const connection = openConnection({ baseUrl: this.#options.baseUrl, apiKey: key })
      await checkKey(connection)
      const transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => void this.#sessions.set(id, session),
      })
      const keyHash = hash(key)
      const session = { connection, transport, keyHash, requests: 0, lastUsedAt: Date.now() }
      const server = createMcpServer(connection, this.#options)
      server.server.onclose = () => this.#forget(session)
      await server.connect(transport)
      try {
        await handle(session, request, response)
      } finally {
        // Anything but an initialization has been refused.
        if (transport.sessionId === undefined) await transport.close()
      }
    } finally {
      this.#opening--
    }
  }

  #forget(session: Session): void {
    const { connection, transport } = session
    if (transport.sessionId !== undefined) this.#sessions.delete(transport.sessionId)
    // What cannot be handed back runs out by itself.
    const ending = connection[Symbol.asyncDispose]().catch(() => {})
    this.#ending.add(ending)
    void ending.then(() => this.#ending.delete(ending))
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
  sendAnswer(response, await session.transport.handleRequest(await readRequest(request)))
}

async function checkKey({ computer }: Connection): Promise<void> {
  try {
    await computer.me()
  } catch (cause) {
    if (cause instanceof ApiError && cause.code === 'unauthenticated')
      throw new HttpRefusal(401, 'the API key was refused', { cause })
    throw new HttpRefusal(502, 'the Computer server does not answer', { cause })
  }
}

function hash(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}
