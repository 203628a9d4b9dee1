import type { Client } from './client.ts'
import { ApiError } from './errors.ts'
import { unlessEnding } from './exit.ts'
import {
  isCode,
  readHolder,
  readLease,
  releaseLease,
  requestLease,
  waitUntilLeaseIsFree,
  withHolder,
  type AcquireOptions,
  type LeaseGrant,
  type LeaseRequest,
} from './lease.ts'
import { LeaseRenewal } from './lease-renewal.ts'
import type { CallOptions, InputOptions, WaitOptions } from './options.ts'
import { closeSession, type OwnSession } from './own-session.ts'
import { abortable } from './retry.ts'
import { guardHeaders } from './screen-guard.ts'
import type { Body, Route } from './transport.ts'
import type { InputLease, Session } from './wire/records.ts'

/** A route that needs the input lease. */
type InputRoute = Extract<
  Route,
  | `${string}/{machine_id}/${'mouse' | 'keyboard'}/${string}`
  | `PUT ${string}/clipboard`
  | `${string}/resize`
>

/** An abandoned session keeps the lease for this long. */
const defaultTtlSeconds = 20

/**
 * This program's hold on the input lease of one machine. Only the session with the lease may type and
 * click.
 *
 * The first call that types or clicks opens a session and acquires the lease, which is then renewed
 * at half its lifetime. After a failed renewal the lease counts as lost, and a lost lease is never
 * reacquired automatically, because somebody took it on purpose. Until `acquire` is called, the server
 * refuses further input with a `conflict` that names the holder.
 *
 * Calls carry their session but no fence. The session suffices, because it regains the lease only
 * through `acquire`.
 */
export class Input {
  readonly #client: Client
  readonly #machineId: string
  readonly #sessionType: 'agent' | 'human'
  #session: Promise<OwnSession> | undefined
  /** Undefined before the first grant and after a release; kept after a loss. */
  #grant: Promise<LeaseGrant> | undefined
  #isLost = false
  readonly #renewal: LeaseRenewal
  readonly #fenceListeners = new Set<(fence: number) => void>()

  constructor(client: Client, machineId: string, sessionType: 'agent' | 'human') {
    this.#client = client
    this.#machineId = machineId
    this.#sessionType = sessionType
    this.#renewal = new LeaseRenewal(client, machineId, {
      onRenewed: (grant) => {
        this.#grant = Promise.resolve(grant)
        this.#hold(grant)
      },
      onLost: () => this.#markLost(),
    })
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

  /**
   * Acquires the lease, also from another session of the same type and API key (or user), such as one
   * that an earlier run of this program has left behind: closes that session first. Never takes the lease
   * from anybody else: then it throws the `conflict`.
   */
  async takeFromOwnKey(options: Omit<AcquireOptions, 'force'> = {}): Promise<InputLease> {
    const { signal } = options
    const holder = await readHolder(this.#client, this.#machineId, { signal })
    const isTheirs = holder && holder.sessionId !== (await this.#ownId())
    if (isTheirs && holder.isOwn && holder.type === this.#sessionType)
      await closeSession(this.#client.transport, holder.sessionId, { signal })
    return this.acquire(options)
  }

  /** Resolves once no other session holds the lease. Does not acquire it. */
  async waitUntilFree(options: Omit<WaitOptions, 'wait'> = {}): Promise<void> {
    await waitUntilLeaseIsFree(this.#client, this.#machineId, () => this.#ownId(), options)
  }

  /** The lease with its current holder, if any. */
  async holder(options: CallOptions = {}): Promise<InputLease> {
    return readLease(this.#client, this.#machineId, options)
  }

  /** Releases the lease. The next input acquires it again. */
  async release(options: CallOptions = {}): Promise<void> {
    const { state } = this
    const grant = await this.#grant?.catch(() => undefined)
    this.#renewal.stop()
    this.#grant = undefined
    this.#isLost = false
    if (grant && state === 'held')
      await releaseLease(this.#client, this.#machineId, grant.sessionId, options)
  }

  /**
   * Releases the lease for a person who is asked for help, who takes it by force anyway: one that cannot be released
   * now expires, because nobody renews it. A lease that was lost before stays lost.
   */
  async handOver(): Promise<void> {
    if (this.state === 'held') await this.release().catch(() => {})
  }

  /** A person has handed the machine back. The next input acquires the lease, also if it was lost. */
  takeBack(): void {
    if (!this.#isLost) return
    this.#grant = undefined
    this.#isLost = false
  }

  /**
   * Goes on with a session and its lease that another call has granted, such as that which takes a help request.
   * The result is to be called once the server has ended that session.
   */
  adopt(session: OwnSession, grant: LeaseGrant): () => void {
    const before = this.#session
    const adopted = Promise.resolve(session)
    this.#reset()
    this.#session = adopted
    this.#grant = Promise.resolve(grant)
    this.#hold(grant)
    before?.then((one) => one.close()).catch(() => {})
    return () => {
      if (this.#session === adopted) this.abandon()
    }
  }

  /** Releases the lease and closes the session. The next input opens a new one. */
  async close(options: CallOptions = {}): Promise<void> {
    const opening = this.#session
    this.#reset()
    const session = await opening?.catch(() => undefined)
    await session?.close(options)
  }

  /** Drops the local state without a call, when the session no longer exists on the server. */
  abandon(): void {
    this.#session?.then(
      (session) => session.abandon(),
      () => {},
    )
    this.#reset()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** The session for input, opened on first use. */
  async session(): Promise<Session> {
    return (await (this.#session ?? this.#useSession(this.#openSession()))).opened
  }

  /** Sends a call that requires the lease, acquiring it if necessary. */
  async send<R extends InputRoute>(
    route: R,
    body: Body<R>,
    { ifScreenshot, tolerance, ...options }: InputOptions = {},
  ): Promise<void> {
    const granting =
      this.#grant ?? this.#startAcquiring({ force: false, ttlSeconds: defaultTtlSeconds })
    const grant = await abortable(granting, options.signal)
    const input = { params: { machineId: this.#machineId }, body } as never
    const headers = { 'x-session-id': grant.sessionId, ...guardHeaders(ifScreenshot, tolerance) }
    // Typing is slow by design: `delayMs` after each of up to 10,000 characters.
    const { text = '', delayMs = 0 } = body as { text?: string; delayMs?: number }
    const tryTimeoutMs = 150_000 + text.length * delayMs
    try {
      await this.#client.transport.call(route, input, {
        ...options,
        headers,
        tryTimeoutMs,
        isRepeatable: false,
      })
    } catch (error) {
      await unlessEnding()
      if (isCode(error, 'conflict')) this.#markLost()
      throw await withHolder(this.#client, this.#machineId, error)
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

  async #ownId(): Promise<string | undefined> {
    return (await (await this.#session?.catch(() => undefined))?.opened)?.id
  }

  #reset(): void {
    this.#renewal.stop()
    this.#grant = undefined
    this.#session = undefined
    this.#isLost = false
  }

  #useSession(opening: Promise<OwnSession>): Promise<OwnSession> {
    this.#session = opening
    opening.catch(() => {
      if (this.#session === opening) this.#session = undefined
    })
    return opening
  }

  async #openSession(): Promise<OwnSession> {
    return this.#client.openSession(this.#machineId, this.#sessionType)
  }

  #startAcquiring(request: LeaseRequest): Promise<LeaseGrant> {
    const before = { grant: this.#grant, isLost: this.#isLost }
    this.#renewal.stop()
    this.#isLost = false
    const granting = this.#acquire(request).catch(async (error: unknown) => {
      await unlessEnding()
      throw await withHolder(this.#client, this.#machineId, error)
    })
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
      grant = await this.#requestGrant(session, request)
    } catch (error) {
      // If the session was closed by this program, give up.
      if (!before || this.#session !== session) throw error
      if (!isCode(error, 'not_found', 'precondition_failed')) throw error
      // Somebody else may have closed the session, so retry with a new one.
      session = this.#useSession(this.#replaceSession(session))
      grant = await this.#requestGrant(session, request)
    }
    // The lease ended with its session; renewing it would be wrong.
    if (this.#session !== session)
      throw new ApiError('conflict', 'the session was closed while the input lease was acquired')
    this.#hold(grant)
    return grant
  }

  async #requestGrant(session: Promise<OwnSession>, request: LeaseRequest): Promise<LeaseGrant> {
    const { id } = await (await session).opened
    return requestLease(this.#client, this.#machineId, id, request)
  }

  async #replaceSession(session: Promise<OwnSession>): Promise<OwnSession> {
    await (await session).close()
    return this.#openSession()
  }

  #hold(grant: LeaseGrant): void {
    for (const listener of this.#fenceListeners) listener(grant.lease.fence)
    this.#renewal.start(grant)
  }

  #markLost(): void {
    this.#renewal.stop()
    this.#isLost = this.#grant !== undefined
  }
}
