import { setTimeout as pause } from 'node:timers/promises'
import { GuestUnavailable } from './errors.ts'

/** Connections to one machine are opened at most `most` times in any `withinMs`. */
export type OpeningLimit = { readonly most: number; readonly withinMs: number }

/**
 * Limits how often connections to the same machine are opened. Each costs the engine and the host several
 * processes, which an agent that hangs up at once would otherwise make them start again and again.
 */
export class Openings {
  readonly #limit: OpeningLimit
  /** When the latest were, oldest first. */
  readonly #times = new Map<string, number[]>()
  readonly #ended = new AbortController()

  constructor(limit: OpeningLimit = { most: 4, withinMs: 15_000 }) {
    this.#limit = limit
  }

  /** Resolves when another may be opened. */
  async wait(key: string): Promise<void> {
    const { most, withinMs } = this.#limit
    for (;;) {
      const times = this.#times.get(key) ?? []
      if (times.length < most) return
      // Timers may be a little early.
      const ms = Math.max(1, times[0]! + withinMs - performance.now())
      await pause(ms, undefined, { signal: this.#ended.signal }).catch((cause: unknown) => {
        throw new GuestUnavailable('the server is closing', { sent: false, cause })
      })
    }
  }

  /** Counts one that has been opened. A machine that cannot be reached yet is not counted against. */
  count(key: string): void {
    const times = this.#times.get(key) ?? []
    times.push(performance.now())
    this.#times.set(key, times)
    const forget = () => {
      times.shift()
      if (times.length === 0) this.#times.delete(key)
    }
    setTimeout(forget, this.#limit.withinMs).unref()
  }

  /** Refuses all that wait. */
  end(): void {
    this.#ended.abort()
  }
}
