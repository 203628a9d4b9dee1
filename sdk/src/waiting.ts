import type { Client } from './client.ts'
import { ApiError } from './errors.ts'
import type { WaitOptions } from './options.ts'
import { deferred, pause } from './retry.ts'

const defaultTimeoutMs = 300_000

export type Awaited<T> = {
  /** Names what is waited for, for `timed_out`. */
  readonly what: string
  /** The machine whose events tell when to look again, if it is one machine's business. */
  readonly machineId: string | null
  /** Undefined while it has not happened. Throws when it cannot happen any more. */
  readonly look: () => Promise<T | undefined>
}

/**
 * Waits for something to happen in the server. Events of the machine say when to look again; looking
 * now and then goes on beside them, so that it works without a gateway as well.
 */
export async function waitFor<T>(
  client: Client,
  { what, machineId, look }: Awaited<T>,
  { signal, timeoutMs = defaultTimeoutMs }: WaitOptions,
): Promise<T> {
  const deadline = Date.now() + timeoutMs
  const ending = new AbortController()
  const hints = new Hints()
  let isListening = false
  try {
    for (let number = 0; ; number++) {
      const hint = hints.next()
      const found = await look()
      if (found !== undefined) return found
      const leftMs = deadline - Date.now()
      if (leftMs <= 0) {
        throw new ApiError(
          'timed_out',
          `${what} did not happen within ${timeoutMs} ms; it may still`,
        )
      }
      if (!isListening && machineId) {
        isListening = true
        void listen(client, machineId, hints, ending.signal)
      }
      await firstOf(hint, Math.min(hints.areComing ? 5000 : pollMs(number), leftMs), signal)
    }
  } finally {
    ending.abort()
  }
}

/** A tenth of a second, growing to two. */
function pollMs(number: number): number {
  return Math.min(100 * 1.5 ** number, 2000)
}

class Hints {
  areComing = false
  #next = deferred()

  next(): Promise<void> {
    this.#next = deferred()
    return this.#next.promise
  }

  give(): void {
    this.#next.resolve()
  }
}

async function listen(
  client: Client,
  machineId: string,
  hints: Hints,
  signal: AbortSignal,
): Promise<void> {
  if (!client.gateway.isUsable) return
  try {
    const socket = await client.gateway.connect(`/v1/machines/${machineId}/events`, signal)
    hints.areComing = true
    // Something may have happened before the connection stood.
    hints.give()
    for await (const _ of socket) hints.give()
  } catch {
    // The gateway is out of reach: looking goes on without it.
  } finally {
    hints.areComing = false
    hints.give()
  }
}

async function firstOf(hint: Promise<void>, ms: number, signal?: AbortSignal): Promise<void> {
  const over = new AbortController()
  const bound = signal ? AbortSignal.any([signal, over.signal]) : over.signal
  const pausing = pause(ms, bound)
  try {
    await Promise.race([hint, pausing])
  } finally {
    pausing.catch(() => {})
    over.abort(new Error('no longer waited for'))
  }
}
