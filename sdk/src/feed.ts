import { toCamel } from './case.ts'
import type { Client } from './client.ts'
import { finalError, type Socket, type Tick } from './gateway.ts'
import type { CallOptions } from './options.ts'
import { Reconnection } from './reconnection.ts'
import { deferred } from './retry.ts'

export type SubscribeOptions = CallOptions & {
  /**
   * Called when connected, and every 5 seconds while the connection lives. A page that has not been called
   * for 12 seconds, nor received an event, shows what may be out of date.
   */
  readonly onTick?: (() => void) | undefined
}

/** After which entry a subscription goes on; undefined until the gateway has named one. */
type Place = { after: string | undefined }
export type Following = CallOptions & {
  readonly onTick?: ((tick: Partial<Tick>) => void) | undefined
}

/**
 * Entries of a log in order, as they occur: iterate with `for await`. After a lost connection it resumes where it
 * was, without gaps or duplicates. It starts on first iteration or on `await ready`, and includes every
 * entry from then on. It ends when the client is closed.
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

/**
 * Follows a channel whose entries have cursors, from now on or after a cursor. `path` is that of the channel. Requires
 * WebSockets.
 */
export function followByCursor<T extends { readonly cursor: string }>(
  client: Client,
  path: string,
  options: SubscribeOptions & { readonly after?: string | undefined },
): Subscription<T> {
  return new Subscription(client, options, async (signal) => {
    const place: Place = { after: options.after }
    const named = deferred()
    const onTick = ({ cursor }: Partial<Tick>) => {
      place.after ??= cursor
      if (place.after) named.resolve()
      options.onTick?.()
    }
    const feed = new CursorFeed<T>(client, path, place, { signal, onTick })
    const first = await feed.begin(named.promise)
    return () => feed.follow(first)
  })
}

class CursorFeed<T extends { readonly cursor: string }> {
  readonly #client: Client
  readonly #path: string
  readonly #place: Place
  readonly #options: Following

  constructor(client: Client, path: string, place: Place, options: Following) {
    this.#client = client
    this.#path = path
    this.#place = place
    this.#options = options
  }

  /** Resolves once the place is known: until then, nobody could tell what a broken connection has missed. */
  async begin(named: Promise<void>): Promise<Socket> {
    const { signal, onTick } = this.#options
    const reconnection = new Reconnection(signal)
    let socket: Socket | undefined = await this.#client.gateway.connect(this.#url(), this.#options)
    onTick?.({})
    for (;;) {
      const code = await Promise.race([named, socket?.closed])
      signal?.throwIfAborted()
      if (socket && code === undefined) return socket
      const error = code === undefined ? undefined : finalError(code)
      if (error) throw error
      await reconnection.pause()
      socket = await connectFeed(this.#client, this.#url(), reconnection, this.#options)
    }
  }

  async *follow(first: Socket): AsyncGenerator<T, void, void> {
    const { signal } = this.#options
    const reconnection = new Reconnection(signal)
    let socket: Socket | undefined = first
    for (;;) {
      if (socket) {
        for await (const entry of entriesOf<T>(socket)) {
          this.#place.after = entry.cursor
          yield entry
        }
        signal?.throwIfAborted()
        const error = finalError(await socket.closed)
        if (error) throw error
      }
      await reconnection.pause()
      socket = await connectFeed(this.#client, this.#url(), reconnection, this.#options)
    }
  }

  #url(): string {
    const { after } = this.#place
    return after === undefined ? this.#path : `${this.#path}?after=${encodeURIComponent(after)}`
  }
}

/** Undefined if the gateway cannot be reached at the moment. */
export async function connectFeed(
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

export async function* entriesOf<T>(socket: Socket): AsyncGenerator<T, void, void> {
  for await (const frame of socket) {
    if (typeof frame === 'string') yield toCamel(JSON.parse(frame)) as T
  }
}
