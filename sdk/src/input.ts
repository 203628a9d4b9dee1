import { ApiError } from './errors.ts'
import type { CallOptions } from './options.ts'
import { abortable } from './retry.ts'
import type { Body, Route, Transport } from './transport.ts'
import type { InputLease, Session, SessionType } from './wire/records.ts'

/** A route that needs the input lease. */
type InputRoute = Extract<
  Route,
  | `${string}/{machine_id}/${'mouse' | 'keyboard'}/${string}`
  | `PUT ${string}/clipboard`
  | `${string}/resize`
>

export type AcquireOptions = CallOptions & {
  /** Take the lease from its current holder. */
  readonly force?: boolean | undefined
  /** Lifetime of the lease unless renewed, 5 to 3600. Default: 60. */
  readonly ttlSeconds?: number | undefined
}

/**
 * This program's hold on the input lease of one machine. Only the session with the lease may type and
 * click.
 *
 * The first call that types or clicks opens a session and acquires the lease, which is then renewed
 * at half its lifetime. After a failed renewal the lease counts as lost, and a lost lease is never
 * reacquired automatically, because somebody took it on purpose. Until `acquire` is called, the server
 * refuses further input with a `conflict` that names the holder.
 *
 * Calls carry their session but no fence: a renewal raises the fence, which would reject calls in
 * flight. The session suffices, because it regains the lease only through `acquire`.
 */
export class Input {
  readonly #transport: Transport
  readonly #machineId: string
  readonly #sessionType: SessionType
  #session: Promise<Session> | undefined
  /** Undefined before the first grant and after a release; kept after a loss. */
  #grant: Promise<LeaseGrant> | undefined
  #isLost = false
  #renewalTimer: ReturnType<typeof setTimeout> | undefined
  readonly #fenceListeners = new Set<(fence: number) => void>()

  constructor(transport: Transport, machineId: string, sessionType: SessionType) {
    this.#transport = transport
    this.#machineId = machineId
    this.#sessionType = sessionType
  }

  /** `lost`: another session took the lease, or it expired. */
  get state(): 'none' | 'held' | 'lost' {
    if (!this.#grant) return 'none'
    return this.#isLost ? 'lost' : 'held'
  }

  /** Acquires the lease now, also after it was lost. */
  async acquire({
    signal,
    force = false,
    ttlSeconds = defaultTtlSeconds,
  }: AcquireOptions = {}): Promise<InputLease> {
    return (await abortable(this.#startAcquiring({ force, ttlSeconds }), signal)).lease
  }

  /** The lease with its current holder, if any. */
  async holder(options: CallOptions = {}): Promise<InputLease> {
    const params = { machineId: this.#machineId }
    return this.#transport.call('GET /v1/machines/{machine_id}/input-lease', { params }, options)
  }

  /** Releases the lease. The next input acquires it again. */
  async release(options: CallOptions = {}): Promise<void> {
    const { state } = this
    const grant = await this.#grant?.catch(() => undefined)
    this.#stopRenewal()
    this.#grant = undefined
    this.#isLost = false
    if (grant && state === 'held') await this.#releaseLease(grant.sessionId, options)
  }

  /** Releases the lease and closes the session. The next input opens a new one. */
  async close(options: CallOptions = {}): Promise<void> {
    const opening = this.#session
    this.abandon()
    const session = await opening?.catch(() => undefined)
    if (session) await this.#closeSession(session, options)
  }

  /** Drops the local state without a call, when the session no longer exists on the server. */
  abandon(): void {
    this.#stopRenewal()
    this.#grant = undefined
    this.#session = undefined
    this.#isLost = false
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** The session for input, opened on first use. */
  async session(): Promise<Session> {
    return this.#session ?? this.#useSession(this.#openSession())
  }

  /** Sends a call that requires the lease, acquiring it if necessary. */
  async send<R extends InputRoute>(
    route: R,
    body: Body<R>,
    options: CallOptions = {},
  ): Promise<void> {
    const granting =
      this.#grant ?? this.#startAcquiring({ force: false, ttlSeconds: defaultTtlSeconds })
    const grant = await abortable(granting, options.signal)
    const input = { params: { machineId: this.#machineId }, body } as never
    const headers = { 'x-session-id': grant.sessionId }
    // Typing is slow by design: `delayMs` after each of up to 10,000 characters.
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
      if (isCode(error, 'conflict')) this.#markLost()
      throw error
    }
  }

  /** Calls the listener with the current fence, if any, and with every later one. */
  onFence(listener: (fence: number) => void): () => void {
    this.#fenceListeners.add(listener)
    if (this.state === 'held')
      void this.#grant!.then(
        ({ lease }) => listener(lease.fence),
        () => {},
      )
    return () => void this.#fenceListeners.delete(listener)
  }

  #useSession(opening: Promise<Session>): Promise<Session> {
    this.#session = opening
    opening.catch(() => {
      if (this.#session === opening) this.#session = undefined
    })
    return opening
  }

  async #openSession(): Promise<Session> {
    const body = { machineId: this.#machineId, type: this.#sessionType }
    return this.#transport.call('POST /v1/sessions', { body, creates: true })
  }

  #startAcquiring(request: LeaseRequest): Promise<LeaseGrant> {
    const before = { grant: this.#grant, isLost: this.#isLost }
    this.#stopRenewal()
    this.#isLost = false
    const granting = this.#acquire(request)
    this.#grant = granting
    granting.catch(() => {
      if (this.#grant !== granting) return
      this.#grant = before.isLost ? before.grant : undefined
      this.#isLost = before.isLost
    })
    return granting
  }

  async #acquire(request: LeaseRequest): Promise<LeaseGrant> {
    const before = this.#session
    let session = before ?? this.#useSession(this.#openSession())
    let grant: LeaseGrant
    try {
      grant = await this.#requestLease((await session).id, request)
    } catch (error) {
      // If the session was closed by this program, give up.
      if (!before || this.#session !== session) throw error
      if (!isCode(error, 'not_found', 'precondition_failed')) throw error
      // Somebody else may have closed the session, so retry with a new one.
      session = this.#useSession(this.#replaceSession(session))
      grant = await this.#requestLease((await session).id, request)
    }
    // The lease ended with its session; renewing it would be wrong.
    if (this.#session !== session)
      throw new ApiError('conflict', 'the session was closed while the input lease was acquired')
    this.#hold(grant)
    return grant
  }

  async #replaceSession(session: Promise<Session>): Promise<Session> {
    await this.#closeSession(await session)
    return this.#openSession()
  }

  async #closeSession({ id: sessionId }: Session, options: CallOptions = {}): Promise<void> {
    try {
      const params = { sessionId }
      await this.#transport.call('DELETE /v1/sessions/{session_id}', { params }, options)
    } catch (error) {
      if (!isCode(error, 'not_found')) throw error
    }
  }

  async #requestLease(
    sessionId: string,
    request: LeaseRequest,
    signal?: AbortSignal,
  ): Promise<LeaseGrant> {
    const requestedAt = Date.now()
    const params = { machineId: this.#machineId }
    const lease = await this.#transport.call(
      'POST /v1/machines/{machine_id}/input-lease',
      { params, body: { ...request, sessionId } },
      { signal, isRepeatable: true },
    )
    const { ttlSeconds } = request
    return { lease, sessionId, ttlSeconds, expiresAt: requestedAt + ttlSeconds * 1000 }
  }

  #hold(grant: LeaseGrant): void {
    for (const listener of this.#fenceListeners) listener(grant.lease.fence)
    this.#stopRenewal()
    this.#renewalTimer = setTimeout(() => void this.#renew(grant), grant.ttlSeconds * 500)
    // Do not keep the process alive for a renewal; the lease then expires.
    ;(this.#renewalTimer as { unref?: () => void }).unref?.()
  }

  async #renew(grant: LeaseGrant): Promise<void> {
    const { sessionId, ttlSeconds } = grant
    const before = this.#grant
    try {
      const remainingMs = grant.expiresAt - Date.now()
      if (remainingMs <= 0) return this.#markLost()
      const signal = AbortSignal.timeout(remainingMs)
      const renewed = await this.#requestLease(sessionId, { force: false, ttlSeconds }, signal)
      if (this.#grant !== before) return
      if (renewed.lease.acquiredAt === grant.lease.acquiredAt) {
        this.#grant = Promise.resolve(renewed)
        return this.#hold(renewed)
      }
      // The old lease had expired, so this is a new one that was not requested: release it.
      this.#markLost()
      await this.#releaseLease(sessionId)
    } catch {
      if (this.#grant === before) this.#markLost()
    }
  }

  async #releaseLease(sessionId: string, options: CallOptions = {}): Promise<void> {
    const input = { params: { machineId: this.#machineId }, query: { sessionId } }
    try {
      await this.#transport.call('DELETE /v1/machines/{machine_id}/input-lease', input, options)
    } catch (error) {
      // Already lost, or the machine is deleted: nothing to release.
      if (!isCode(error, 'conflict', 'not_found')) throw error
    }
  }

  #markLost(): void {
    this.#stopRenewal()
    this.#isLost = this.#grant !== undefined
  }

  #stopRenewal(): void {
    clearTimeout(this.#renewalTimer)
    this.#renewalTimer = undefined
  }
}

const defaultTtlSeconds = 60

type LeaseRequest = { readonly force: boolean; readonly ttlSeconds: number }

type LeaseGrant = {
  readonly lease: InputLease
  readonly sessionId: string
  readonly ttlSeconds: number
  /** By the local clock; never later than the server's expiry. */
  readonly expiresAt: number
}

function isCode(error: unknown, ...codes: ApiError['code'][]): boolean {
  return error instanceof ApiError && codes.includes(error.code)
}
