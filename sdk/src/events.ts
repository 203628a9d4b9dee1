import { toCamel } from './case.ts'
import type { Client } from './client.ts'
import { ApiError } from './errors.ts'
import { finalError, type Socket, type Tick } from './gateway.ts'
import type { CallOptions } from './options.ts'
import type { List } from './pages.ts'
import { Reconnection } from './reconnection.ts'
import { deferred, pause } from './retry.ts'
import type { Query } from './transport.ts'
import type { MachineEvent } from './wire/records.ts'

export type SubscribeOptions = CallOptions & {
  /**
   * Called when connected, and every 5 seconds while the connection lives. A page that has not been called
   * for 12 seconds, nor received an event, shows what may be out of date.
   */
  readonly onTick?: (() => void) | undefined
}

/** An event of the organization. Pass its `cursor` as `after` to resume there. */
export type OrganizationEvent = MachineEvent & { readonly cursor: string }

export type EventFilter = Query<'GET /v1/machines/{machine_id}/events'>

const pollMs = 1000

/** After which event a subscription goes on; undefined until the gateway has named one. */
type Place = { after: string | undefined }
type Following = CallOptions & {
  readonly onTick?: ((tick: Partial<Tick>) => void) | undefined
}

/**
 * Events in order, as they occur: iterate with `for await`. After a lost connection it resumes where it
 * was, without gaps or duplicates. It starts on first iteration or on `await ready`, and includes every
 * event from then on. It ends when the client is closed.
 */
export class Subscription<T> implements AsyncIterable<T> {
  readonly #ending: AbortSignal
  readonly #signal: AbortSignal | undefined
  readonly #start: Start<T>
  #started: ReturnType<Start<T>> | undefined

  constructor({ ending }: Pick<Client, 'ending'>, { signal }: CallOptions, start: Start<T>) {
    this.#ending = ending
    this.#signal = signal
    this.#start = start
  }

  get ready(): Promise<void> {
    return this.#startOnce().then(() => {})
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, void> {
    try {
      yield* (await this.#startOnce())()
    } catch (error) {
      if (this.#ending.aborted && !this.#signal?.aborted) return
      throw error
    }
  }

  #startOnce() {
    const ends = this.#signal ? [this.#signal, this.#ending] : [this.#ending]
    return (this.#started ??= this.#start(AbortSignal.any(ends)))
  }
}

type Start<T> = (signal: AbortSignal) => Promise<() => AsyncGenerator<T, void, void>>

/** The event log of one machine. */
export class MachineEvents {
  readonly #client: Client
  readonly #machineId: string

  constructor(client: Client, machineId: string) {
    this.#client = client
    this.#machineId = machineId
  }

  /** Past events, newest first: all, or those of one or several types. */
  list({ signal, ...query }: EventFilter & CallOptions = {}): List<MachineEvent> {
    const params = { machineId: this.#machineId }
    return this.#client.transport.list(
      'GET /v1/machines/{machine_id}/events',
      { params, query },
      { signal },
    )
  }

  /**
   * Events from now on, or after a given event of the log. Ends when the machine is gone; its last event
   * `machine.deleted` reaches only subscriptions that are connected then.
   */
  subscribe(
    options: SubscribeOptions & { readonly afterSequence?: number | undefined } = {},
  ): Subscription<MachineEvent> {
    return new Subscription(this.#client, options, async (signal) => {
      const after = options.afterSequence ?? (await this.#lastSequence({ signal }))
      return () => this.#follow(after, { ...options, signal })
    })
  }

  async *#follow(
    after: number,
    options: SubscribeOptions,
  ): AsyncGenerator<MachineEvent, void, void> {
    const { signal, onTick } = options
    let isOver = false
    const take = (event: MachineEvent) => {
      after = event.sequence
      isOver = event.type === 'machine.deleted'
      return event
    }
    const reconnection = new Reconnection(signal)
    while (!isOver) {
      const path = `/v1/machines/${this.#machineId}/events?after_sequence=${after}`
      const hasGateway = this.#client.gateway.isUsable
      const socket = hasGateway
        ? await connect(this.#client, path, reconnection, options)
        : undefined
      if (socket) {
        for await (const event of eventsOf<MachineEvent>(socket)) yield take(event)
        signal?.throwIfAborted()
        const error = finalError(await socket.closed)
        if (error?.code === 'not_found') return
        if (error) throw error
      } else {
        // Without the gateway, read the log. It has the same events, and its errors say more.
        const missed = await reconnection.attempt(() => this.#missed(after, signal))
        if (missed === 'gone') return
        if (missed) reconnection.succeeded()
        if (missed) onTick?.()
        for (const event of missed ?? []) yield take(event)
      }
      if (isOver) return
      await (hasGateway ? reconnection.pause() : pause(pollMs, signal))
    }
  }

  async #lastSequence({ signal }: CallOptions): Promise<number> {
    const { data } = await this.list({ signal, limit: 1 })
    return data[0]?.sequence ?? -1
  }

  /** Events after a given one, oldest first. A deleted machine has no log. */
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

/** The events of all machines of the organization. Requires WebSockets. */
export class Events {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  /** Events from now on, or after an event of an earlier subscription. */
  subscribe(
    options: SubscribeOptions & { readonly after?: string | undefined } = {},
  ): Subscription<OrganizationEvent> {
    return new Subscription(this.#client, options, async (signal) => {
      const place: Place = { after: options.after }
      const named = deferred()
      const onTick = ({ cursor }: Partial<Tick>) => {
        place.after ??= cursor
        if (place.after) named.resolve()
        options.onTick?.()
      }
      const bounded = { signal, onTick }
      const first = await this.#begin(place, named.promise, bounded)
      return () => this.#follow(first, place, bounded)
    })
  }

  /** Resolves once the place is known: until then, nobody could tell what a broken connection has missed. */
  async #begin(place: Place, named: Promise<void>, options: Following): Promise<Socket> {
    const reconnection = new Reconnection(options.signal)
    let socket: Socket | undefined = await this.#client.gateway.connect(pathAfter(place), options)
    options.onTick?.({})
    for (;;) {
      const code = await Promise.race([named, socket?.closed])
      options.signal?.throwIfAborted()
      if (socket && code === undefined) return socket
      const error = code === undefined ? undefined : finalError(code)
      if (error) throw error
      await reconnection.pause()
      socket = await connect(this.#client, pathAfter(place), reconnection, options)
    }
  }

  async *#follow(
    first: Socket,
    place: Place,
    options: Following,
  ): AsyncGenerator<OrganizationEvent, void, void> {
    const { signal } = options
    const reconnection = new Reconnection(signal)
    let socket: Socket | undefined = first
    for (;;) {
      if (socket) {
        for await (const event of eventsOf<OrganizationEvent>(socket)) {
          place.after = event.cursor
          yield event
        }
        signal?.throwIfAborted()
        const error = finalError(await socket.closed)
        if (error) throw error
      }
      await reconnection.pause()
      socket = await connect(this.#client, pathAfter(place), reconnection, options)
    }
  }
}

/** Undefined if the gateway cannot be reached at the moment. */
async function connect(
  client: Client,
  path: string,
  reconnection: Reconnection,
  { signal, onTick }: Following,
): Promise<Socket | undefined> {
  const connecting = () => client.gateway.connect(path, { signal, onTick })
  const socket = await reconnection.attempt(connecting)
  if (!socket) return undefined
  reconnection.succeeded()
  onTick?.({})
  return socket
}

function pathAfter({ after }: Place): string {
  return after === undefined ? '/v1/events' : `/v1/events?after=${encodeURIComponent(after)}`
}

async function* eventsOf<T>(socket: Socket): AsyncGenerator<T, void, void> {
  for await (const frame of socket) {
    if (typeof frame === 'string') yield toCamel(JSON.parse(frame)) as T
  }
}
