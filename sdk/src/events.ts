import { toCamel } from './case.ts'
import type { Client } from './client.ts'
import { ApiError } from './errors.ts'
import { finalError, type Socket } from './gateway.ts'
import type { CallOptions } from './options.ts'
import type { List, PageOptions } from './pages.ts'
import { backoffMs, pause } from './retry.ts'
import type { MachineEvent } from './wire/records.ts'

/** An event of the organization; `cursor` is what `after` takes. */
export type OrganizationEvent = MachineEvent & { readonly cursor: string }

/** Reconnecting goes on for as long before the error is shown. */
const patienceMs = 120_000
const pollMs = 1000

/**
 * Events as they happen, in order: `for await` over it. A connection that breaks off is made again and
 * goes on where it was, so that none is lost or comes twice. It begins at the first need, which
 * `await ready` is too: what happens after that is in it.
 */
export class Subscription<T> implements AsyncIterable<T> {
  readonly #begin: () => Promise<() => AsyncGenerator<T, void, void>>
  #begun: Promise<() => AsyncGenerator<T, void, void>> | undefined

  constructor(begin: () => Promise<() => AsyncGenerator<T, void, void>>) {
    this.#begin = begin
  }

  get ready(): Promise<void> {
    return this.#start().then(() => {})
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, void> {
    yield* (await this.#start())()
  }

  #start() {
    return (this.#begun ??= this.#begin())
  }
}

/** The event log of one machine. */
export class MachineEvents {
  readonly #client: Client
  readonly #machineId: string

  constructor(client: Client, machineId: string) {
    this.#client = client
    this.#machineId = machineId
  }

  /** The log, newest first. */
  list({ signal, ...query }: PageOptions & CallOptions = {}): List<MachineEvent> {
    const params = { machineId: this.#machineId }
    return this.#client.transport.list(
      'GET /v1/machines/{machine_id}/events',
      { params, query },
      { signal },
    )
  }

  /**
   * What happens from now on, or after an event of the log. Ends when the machine is gone; its last
   * event, `machine.deleted`, reaches who is connected then.
   */
  subscribe(
    options: CallOptions & { readonly afterSequence?: number | undefined } = {},
  ): Subscription<MachineEvent> {
    return new Subscription(async () => {
      const after = options.afterSequence ?? (await this.#lastSequence(options))
      return () => this.#follow(after, options.signal)
    })
  }

  async *#follow(after: number, signal?: AbortSignal): AsyncGenerator<MachineEvent, void, void> {
    let isOver = false
    const take = (event: MachineEvent) => {
      after = event.sequence
      isOver = event.type === 'machine.deleted'
      return event
    }
    const tries = new Tries(signal)
    while (!isOver) {
      const path = `/v1/machines/${this.#machineId}/events?after_sequence=${after}`
      const socket = await tries.connect(this.#client, path)
      if (socket) {
        for await (const event of eventsOf<MachineEvent>(socket)) yield take(event)
        signal?.throwIfAborted()
        const error = finalError(await socket.closed)
        if (error?.code === 'not_found') return
        if (error) throw error
      } else {
        // No gateway now, or none ever: the log tells the same, and says what is wrong.
        const missed = await tries.run(() => this.#missed(after, signal))
        if (missed === 'gone') return
        for (const event of missed ?? []) yield take(event)
      }
      if (!isOver) await tries.pause()
    }
  }

  async #lastSequence(options: CallOptions): Promise<number> {
    const { data } = await this.list({ ...options, limit: 1 })
    return data[0]?.sequence ?? -1
  }

  /** What came after an event, oldest first. The log goes with its machine. */
  async #missed(after: number, signal?: AbortSignal): Promise<MachineEvent[] | 'gone'> {
    const missed: MachineEvent[] = []
    try {
      for await (const event of this.list({ limit: 100, signal })) {
        if (event.sequence <= after) break
        missed.unshift(event)
      }
    } catch (error) {
      if (error instanceof ApiError && error.code === 'not_found') return 'gone'
      throw error
    }
    return missed
  }
}

/** The events of every machine of the organization. They need a runtime that has WebSockets. */
export class Events {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  /** What happens from now on, or after an event that an earlier subscription gave. */
  subscribe(
    options: CallOptions & { readonly after?: string | undefined } = {},
  ): Subscription<OrganizationEvent> {
    return new Subscription(async () => {
      const first = await this.#client.gateway.connect(pathAfter(options.after), options.signal)
      return () => this.#follow(first, options)
    })
  }

  async *#follow(
    first: Socket,
    { after, signal }: CallOptions & { readonly after?: string | undefined },
  ): AsyncGenerator<OrganizationEvent, void, void> {
    const tries = new Tries(signal)
    let socket: Socket | undefined = first
    for (;;) {
      if (socket) {
        for await (const event of eventsOf<OrganizationEvent>(socket)) {
          after = event.cursor
          yield event
        }
        signal?.throwIfAborted()
        const error = finalError(await socket.closed)
        if (error) throw error
      }
      await tries.pause()
      socket = await tries.connect(this.#client, pathAfter(after))
    }
  }
}

function pathAfter(after: string | undefined): string {
  return after === undefined ? '/v1/events' : `/v1/events?after=${encodeURIComponent(after)}`
}

async function* eventsOf<T>(socket: Socket): AsyncGenerator<T, void, void> {
  for await (const frame of socket) {
    if (typeof frame === 'string') yield toCamel(JSON.parse(frame)) as T
  }
}

/** Tries again and again what a connection that comes and goes may mend, with patience. */
class Tries {
  readonly #signal: AbortSignal | undefined
  #failures = 0
  #goodAt = Date.now()
  #hasSocket = true

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal
  }

  /** Undefined if there is no connection to be had just now. */
  async connect(client: Client, path: string): Promise<Socket | undefined> {
    this.#hasSocket = client.gateway.isUsable
    if (!this.#hasSocket) return undefined
    return this.run(() => client.gateway.connect(path, this.#signal))
  }

  async run<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      const result = await work()
      this.#failures = 0
      this.#goodAt = Date.now()
      return result
    } catch (error) {
      this.#signal?.throwIfAborted()
      const isPassing =
        error instanceof ApiError &&
        (error.code === 'connection_failed' || error.code === 'compute_unavailable')
      if (!isPassing || Date.now() - this.#goodAt > patienceMs) throw error
      this.#failures++
      return undefined
    }
  }

  async pause(): Promise<void> {
    await pause(this.#hasSocket ? backoffMs(this.#failures) : pollMs, this.#signal)
  }
}
