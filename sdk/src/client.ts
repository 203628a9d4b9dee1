import { ApiError } from './errors.ts'
import { closeOnExit, forgetOnExit, unlessEnding, type SessionOwner } from './exit.ts'
import { Gateway } from './gateway.ts'
import { Input } from './input.ts'
import type { CallOptions, Configuration } from './options.ts'
import { OwnSession, type ClosingRequest } from './own-session.ts'
import { Sessions } from './sessions.ts'
import { Transport } from './transport.ts'
import type { Session, SessionType } from './wire/records.ts'

/** State shared by the parts of one Computer. */
export class Client implements SessionOwner {
  readonly transport: Transport
  readonly gateway: Gateway
  readonly sessions: Sessions
  readonly #sessionType: 'agent' | 'human'
  readonly #inputs = new Map<string, Input>()
  readonly #ownSessions = new Set<OwnSession>()
  #callerId: Promise<string | undefined> | undefined
  #ending = new AbortController()

  constructor(configuration: Configuration, sessionType: 'agent' | 'human') {
    this.transport = new Transport(configuration)
    this.gateway = new Gateway(this.transport)
    this.sessions = new Sessions(this.transport)
    this.#sessionType = sessionType
  }

  /** One per machine, shared by all handles: two would take the lease from each other. */
  input(machineId: string): Input {
    const input = this.#inputs.get(machineId) ?? new Input(this, machineId, this.#sessionType)
    this.#inputs.set(machineId, input)
    return input
  }

  /** Opens a session that is closed with this client, or when the program ends. */
  async openSession(
    machineId: string,
    type: SessionType,
    { signal }: CallOptions = {},
  ): Promise<OwnSession> {
    await unlessEnding()
    const input = { body: { machineId, type }, creates: true } as const
    const session = this.#own(this.transport.call('POST /v1/sessions', input, { signal }))
    await session.opened
    return session
  }

  /** Makes a session its own that another call has opened. */
  adoptSession(record: Session): OwnSession {
    return this.#own(Promise.resolve(record))
  }

  #own(opened: Promise<Session>): OwnSession {
    const onEnded = () => {
      this.#ownSessions.delete(session)
      if (this.#ownSessions.size === 0) forgetOnExit(this)
    }
    const session = new OwnSession(this.transport, opened, onEnded)
    this.#ownSessions.add(session)
    if (this.transport.configuration.closeOnExit) closeOnExit(this)
    return session
  }

  /** Closes all sessions that the SDK has opened, which releases their leases. */
  async closeSessions(options: CallOptions = {}): Promise<void> {
    const inputs = [...this.#inputs.values()]
    const sessions = [...this.#ownSessions]
    await Promise.all([...inputs, ...sessions].map((one) => one.close(options)))
  }

  closingRequests(): readonly ClosingRequest[] {
    return [...this.#ownSessions].flatMap(({ closingRequest }) => closingRequest ?? [])
  }

  /** The id of the API key or user that this client acts as. Undefined if it cannot be found out. */
  async callerId(): Promise<string | undefined> {
    this.#callerId ??= this.transport.call('GET /v1/auth/me', {}).then(
      ({ apiKey, user }) => apiKey?.id ?? user?.id,
      () => (this.#callerId = undefined),
    )
    return this.#callerId
  }

  /** Drops local state of a deleted machine; its session ended with it. */
  forget(machineId: string): void {
    this.#inputs.get(machineId)?.abandon()
    this.#inputs.delete(machineId)
  }

  /** Aborts when this client is closed. What is opened afterwards has another. */
  get ending(): AbortSignal {
    return this.#ending.signal
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ending = this.#ending
    this.#ending = new AbortController()
    ending.abort(new ApiError('connection_failed', 'the client was closed'))
    await this.closeSessions()
  }
}
