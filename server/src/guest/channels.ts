import type { Duplex } from 'node:stream'
import { DriverError, type MachineRef } from '../drivers/machine-driver.ts'
import { GuestChannel, type GuestAnswer, type GuestRequest } from './channel.ts'
import { span } from '../trace/span.ts'
import { GuestUnavailable } from './errors.ts'
import { Openings, type OpeningLimit } from './openings.ts'

/**
 * One boot of a machine. `run` changes whenever the machine is started (the row counts its boots), so
 * that a session of an earlier boot is never used for a restarted machine.
 */
export type GuestRef = MachineRef & { readonly host: string; readonly run: string }

/** Opens byte streams to the agents in running machines. */
export type AgentConnector = { connect(ref: GuestRef): Promise<Duplex> }

export type GuestChannelOptions = {
  /** How long an unused channel stays open. */
  readonly idleMs?: number
  readonly openTimeoutMs?: number
  readonly openings?: OpeningLimit
  /** How much of each unread stream is buffered here. */
  readonly streamWindowBytes?: number
  /** Times each request, until it is consumed, under the method and the path of its route. */
  readonly time?: <T>(call: string, request: () => Promise<T>) => Promise<T>
}

/**
 * The guest channels of this process: one HTTP/2 session per machine. Opening one takes the engine tens
 * of milliseconds, a request on an open one less than one.
 *
 * Sessions open on first use, and concurrent callers share the opening. A session that fails is dropped
 * at once and the next call opens another. Between two calls a session may die unnoticed, so a request
 * that fails on a reused session is retried once on a new one, if the agent provably did not act on it
 * or it only reads. All other failures are left to the caller. An agent that ends its sessions again and
 * again waits for new ones, because the host pays for each.
 */
export class GuestChannels implements AsyncDisposable {
  readonly #connector: AgentConnector
  readonly #idleMs: number
  readonly #openTimeoutMs: number
  readonly #streamWindowBytes: number | undefined
  readonly #channels = new Map<string, Promise<GuestChannel>>()
  readonly #openings: Openings
  readonly #time: NonNullable<GuestChannelOptions['time']>
  #disposed = false

  constructor(connector: AgentConnector, options: GuestChannelOptions = {}) {
    this.#connector = connector
    this.#idleMs = options.idleMs ?? 60_000
    this.#openings = new Openings(options.openings)
    this.#time = options.time ?? ((_call, request) => request())
    this.#openTimeoutMs = options.openTimeoutMs ?? 10_000
    this.#streamWindowBytes = options.streamWindowBytes
  }

  /** Machines with a channel that is open or opening. */
  get size(): number {
    return this.#channels.size
  }

  /** `consume` is part of the retry: if the channel dies during it, it may run again. */
  request<T>(
    ref: GuestRef,
    request: GuestRequest,
    consume: (answer: GuestAnswer) => Promise<T>,
  ): Promise<T> {
    const call = `${request.method} ${request.path.split('?', 1)[0]!}`
    return this.#time(call, () =>
      span(`guest ${call}`, { id: ref.id }, () => this.#request(ref, request, consume)),
    )
  }

  /** Opens the channel, so that the first request need not. */
  async open(ref: GuestRef): Promise<void> {
    await this.#channel(ref, undefined)
  }

  async #request<T>(
    ref: GuestRef,
    request: GuestRequest,
    consume: (answer: GuestAnswer) => Promise<T>,
  ): Promise<T> {
    const first = await this.#channel(ref, request.signal)
    try {
      return await consume(await first.channel.send(request))
    } catch (error) {
      const died = first.reused && first.channel.closed
      if (!died || !isRepeatable(request, error)) throw error
    }
    const second = await this.#channel(ref, request.signal)
    return consume(await second.channel.send(request))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true
    this.#openings.end()
    const opened = await Promise.allSettled(this.#channels.values())
    const closing = opened.map(async (result) => {
      if (result.status === 'rejected') return
      const closed = new Promise<void>((resolve) => result.value.onClose(resolve))
      result.value.destroy()
      await closed
    })
    await Promise.all(closing)
  }

  async #channel(
    ref: GuestRef,
    signal: AbortSignal | undefined,
  ): Promise<{ channel: GuestChannel; reused: boolean }> {
    if (this.#disposed) throw new GuestUnavailable('the server is closing', { sent: false })
    const key = `${ref.id} ${ref.generation} ${ref.run}`
    const known = this.#channels.get(key)
    if (known) {
      const channel = await abortable(known, signal)
      if (!channel.closed) return { channel, reused: true }
      if (this.#channels.get(key) === known) this.#channels.delete(key)
      return this.#channel(ref, signal)
    }
    const opening = span('guest channel', { id: ref.id }, () => this.#open(ref, key))
    this.#channels.set(key, opening)
    const forget = () => {
      if (this.#channels.get(key) === opening) this.#channels.delete(key)
    }
    opening.then((channel) => this.#keep(channel, forget), forget)
    return { channel: await abortable(opening, signal), reused: false }
  }

  async #open(ref: GuestRef, key: string): Promise<GuestChannel> {
    await this.#openings.wait(key)
    const duplex = await this.#connect(ref)
    this.#openings.count(key)
    return GuestChannel.open(duplex, this.#openTimeoutMs, this.#streamWindowBytes)
  }

  #keep(channel: GuestChannel, forget: () => void): void {
    const idle = setTimeout(() => {
      if (channel.inFlight > 0) return
      forget()
      channel.close()
    }, this.#idleMs)
    idle.unref()
    channel.onIdle = () => idle.refresh()
    channel.onClose(() => {
      clearTimeout(idle)
      forget()
    })
  }

  async #connect(ref: GuestRef) {
    try {
      return await this.#connector.connect(ref)
    } catch (cause) {
      const isHostGone = cause instanceof DriverError && cause.ofEngine
      const message = isHostGone
        ? 'the host of the machine does not answer'
        : 'the machine cannot be reached'
      throw new GuestUnavailable(message, { sent: false, cause })
    }
  }
}

function isRepeatable(request: GuestRequest, error: unknown): boolean {
  if (!(error instanceof GuestUnavailable)) return false
  if (error.sent) return request.method === 'GET'
  const { body } = request
  return body === undefined || Buffer.isBuffer(body) || !body.readableDidRead
}

/** Stops waiting when the signal is aborted; the shared promise goes on for other callers. */
async function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise
  signal.throwIfAborted()
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason)
  signal.addEventListener('abort', onAbort)
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
