import { ApiError } from './errors.ts'
import type { CallOptions } from './options.ts'
import { abortable } from './retry.ts'
import type { Body, Route, Transport } from './transport.ts'
import type { InputLease, Session, SessionType } from './wire/records.ts'

/** A route that needs the input lease. */
export type InputRoute = Extract<
  Route,
  | `${string}/{machine_id}/${'mouse' | 'keyboard'}/${string}`
  | `PUT ${string}/clipboard`
  | `${string}/resize`
>

export type AcquireOptions = CallOptions & {
  /** Take it from whoever holds it. */
  readonly force?: boolean | undefined
  /** How long a grant lasts that is not renewed: 5 to 3600. Default: 60. */
  readonly ttlSeconds?: number | undefined
}

/**
 * The input lease of one machine, as this program holds it: at most one session at a time may type
 * and click.
 *
 * The first call that types or clicks opens a session and acquires the lease; it is renewed at half
 * its time for as long as it is held. A renewal that fails is the last one, and a lease that was lost
 * is never acquired again unasked: somebody took it for a reason. The calls after that are refused by
 * the server with a `conflict` that names the holder, until `acquire` is called.
 *
 * Calls name their session and no fence: a renewal raises the fence, and would refuse what is on its
 * way. The session is enough, because it gets the lease again only if `acquire` says so.
 */
export class Input {
  readonly #transport: Transport
  readonly #machineId: string
  readonly #sessionType: SessionType
  #session: Promise<Session> | undefined
  /** Undefined before the first grant and after a release; stays after a loss. */
  #grant: Promise<Grant> | undefined
  #isLost = false
  #renewal: ReturnType<typeof setTimeout> | undefined
  readonly #listeners = new Set<(fence: number) => void>()

  constructor(transport: Transport, machineId: string, sessionType: SessionType) {
    this.#transport = transport
    this.#machineId = machineId
    this.#sessionType = sessionType
  }

  /** `lost`: it was held, and another took it or it ran out. */
  get state(): 'none' | 'held' | 'lost' {
    if (!this.#grant) return 'none'
    return this.#isLost ? 'lost' : 'held'
  }

  /** Acquires the lease now, or again after it was lost. */
  async acquire({
    signal,
    force = false,
    ttlSeconds = defaultTtlSeconds,
  }: AcquireOptions = {}): Promise<InputLease> {
    return (await abortable(this.#startGrant({ force, ttlSeconds }), signal)).lease
  }

  /** Who holds the lease, whoever that is. */
  async holder(options: CallOptions = {}): Promise<InputLease> {
    const params = { machineId: this.#machineId }
    return this.#transport.call('GET /v1/machines/{machine_id}/input-lease', { params }, options)
  }

  /** Lets others type and click. The next call that does acquires the lease anew. */
  async release(options: CallOptions = {}): Promise<void> {
    const { state } = this
    const grant = await this.#grant?.catch(() => undefined)
    this.#stopRenewing()
    this.#grant = undefined
    this.#isLost = false
    if (grant && state === 'held') await this.#giveBack(grant.sessionId, options)
  }

  /** Releases the lease and closes the session. The next input opens another. */
  async close(options: CallOptions = {}): Promise<void> {
    const opening = this.#session
    this.abandon()
    const session = await opening?.catch(() => undefined)
    if (session) await this.#closeSession(session, options)
  }

  /** Forgets it without a word to the server, which has forgotten it already. */
  abandon(): void {
    this.#stopRenewing()
    this.#grant = undefined
    this.#session = undefined
    this.#isLost = false
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** The session that types and clicks, opened at the first need. */
  async session(): Promise<Session> {
    return this.#session ?? this.#startSession(this.#open())
  }

  /** Sends a call that types or clicks. */
  async send<R extends InputRoute>(
    route: R,
    body: Body<R>,
    options: CallOptions = {},
  ): Promise<void> {
    const granting =
      this.#grant ?? this.#startGrant({ force: false, ttlSeconds: defaultTtlSeconds })
    const grant = await abortable(granting, options.signal)
    const input = { params: { machineId: this.#machineId }, body } as never
    const headers = { 'x-session-id': grant.sessionId }
    // Typing takes its time: up to 10,000 characters with a pause after each.
    const { text = '', delayMs = 0 } = body as { text?: string; delayMs?: number }
    const tryTimeoutMs = 150_000 + text.length * delayMs
    try {
      await this.#transport.call(route, input, {
        ...options,
        headers,
        tryTimeoutMs,
        isRepeatable: false,
      })
    } catch (error) {
      if (isCode(error, 'conflict')) this.#lose()
      throw error
    }
  }

  /** Tells of every fence that this program is granted, beginning with the one it holds. */
  onFence(listener: (fence: number) => void): () => void {
    this.#listeners.add(listener)
    if (this.state === 'held')
      void this.#grant!.then(
        ({ lease }) => listener(lease.fence),
        () => {},
      )
    return () => void this.#listeners.delete(listener)
  }

  #startSession(opening: Promise<Session>): Promise<Session> {
    this.#session = opening
    opening.catch(() => {
      if (this.#session === opening) this.#session = undefined
    })
    return opening
  }

  async #open(): Promise<Session> {
    const body = { machineId: this.#machineId, type: this.#sessionType }
    return this.#transport.call('POST /v1/sessions', { body, creates: true })
  }

  #startGrant(wish: Wish): Promise<Grant> {
    const before = { grant: this.#grant, isLost: this.#isLost }
    this.#stopRenewing()
    this.#isLost = false
    const granting = this.#acquire(wish)
    this.#grant = granting
    granting.catch(() => {
      if (this.#grant !== granting) return
      this.#grant = before.isLost ? before.grant : undefined
      this.#isLost = before.isLost
    })
    return granting
  }

  async #acquire(wish: Wish): Promise<Grant> {
    const before = this.#session
    let session = before ?? this.#startSession(this.#open())
    let grant: Grant
    try {
      grant = await this.#ask((await session).id, wish)
    } catch (error) {
      // Closing it here ends the acquire too.
      if (!before || this.#session !== session) throw error
      if (!isCode(error, 'not_found', 'precondition_failed')) throw error
      // Somebody else may have closed the session meanwhile. A new one can tell.
      session = this.#startSession(this.#replace(session))
      grant = await this.#ask((await session).id, wish)
    }
    // The lease goes with its session, and a renewal would outlive both.
    if (this.#session !== session)
      throw new ApiError('conflict', 'the session was closed while the input lease was acquired')
    this.#keep(grant)
    return grant
  }

  async #replace(session: Promise<Session>): Promise<Session> {
    await this.#closeSession(await session)
    return this.#open()
  }

  async #closeSession({ id: sessionId }: Session, options: CallOptions = {}): Promise<void> {
    try {
      const params = { sessionId }
      await this.#transport.call('DELETE /v1/sessions/{session_id}', { params }, options)
    } catch (error) {
      if (!isCode(error, 'not_found')) throw error
    }
  }

  async #ask(sessionId: string, wish: Wish, signal?: AbortSignal): Promise<Grant> {
    const askedAt = Date.now()
    const params = { machineId: this.#machineId }
    const lease = await this.#transport.call(
      'POST /v1/machines/{machine_id}/input-lease',
      { params, body: { ...wish, sessionId } },
      { signal, isRepeatable: true },
    )
    const { ttlSeconds } = wish
    return { lease, sessionId, ttlSeconds, endsAt: askedAt + ttlSeconds * 1000 }
  }

  #keep(grant: Grant): void {
    for (const listener of this.#listeners) listener(grant.lease.fence)
    this.#stopRenewing()
    this.#renewal = setTimeout(() => void this.#renew(grant), grant.ttlSeconds * 500)
    // A program that has nothing left to do ends; its lease runs out.
    ;(this.#renewal as { unref?: () => void }).unref?.()
  }

  async #renew(grant: Grant): Promise<void> {
    const { sessionId, ttlSeconds } = grant
    const before = this.#grant
    try {
      const remainingMs = grant.endsAt - Date.now()
      if (remainingMs <= 0) return this.#lose()
      const signal = AbortSignal.timeout(remainingMs)
      const renewed = await this.#ask(sessionId, { force: false, ttlSeconds }, signal)
      if (this.#grant !== before) return
      if (renewed.lease.acquiredAt === grant.lease.acquiredAt) {
        this.#grant = Promise.resolve(renewed)
        return this.#keep(renewed)
      }
      // It had run out and this was a new grant, which nobody asked for.
      this.#lose()
      await this.#giveBack(sessionId)
    } catch {
      if (this.#grant === before) this.#lose()
    }
  }

  async #giveBack(sessionId: string, options: CallOptions = {}): Promise<void> {
    const input = { params: { machineId: this.#machineId }, query: { sessionId } }
    try {
      await this.#transport.call('DELETE /v1/machines/{machine_id}/input-lease', input, options)
    } catch (error) {
      // It was lost a moment ago, or went with its machine: there is nothing to release.
      if (!isCode(error, 'conflict', 'not_found')) throw error
    }
  }

  #lose(): void {
    this.#stopRenewing()
    this.#isLost = this.#grant !== undefined
  }

  #stopRenewing(): void {
    clearTimeout(this.#renewal)
    this.#renewal = undefined
  }
}

const defaultTtlSeconds = 60

type Wish = { readonly force: boolean; readonly ttlSeconds: number }

type Grant = {
  readonly lease: InputLease
  readonly sessionId: string
  readonly ttlSeconds: number
  /** By this program's clock, and no later than by the server's. */
  readonly endsAt: number
}

function isCode(error: unknown, ...codes: ApiError['code'][]): boolean {
  return error instanceof ApiError && codes.includes(error.code)
}
