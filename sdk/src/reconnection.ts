import { ApiError } from './errors.ts'
import { backoffMs, pause } from './retry.ts'

/** Reconnection attempts go on this long before the error is reported, unless told otherwise. */
const defaultTimeoutMs = 120_000

/** The retry policy of one long-lived connection. */
export class Reconnection {
  readonly #signal: AbortSignal | undefined
  readonly #timeoutMs: number
  #failures = 0
  #lastSuccessAt = Date.now()

  constructor(signal: AbortSignal | undefined, timeoutMs = defaultTimeoutMs) {
    this.#signal = signal
    this.#timeoutMs = timeoutMs
  }

  get isTimedOut(): boolean {
    return Date.now() - this.#lastSuccessAt > this.#timeoutMs
  }

  /** Runs one attempt. Resolves to undefined if it failed and should be retried. */
  async attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch (error) {
      this.#signal?.throwIfAborted()
      if (!isTransient(error) || this.isTimedOut) throw error
      return undefined
    }
  }

  /** Call once the connection works: restarts the backoff and the timeout. */
  succeeded(): void {
    this.#failures = 0
    this.#lastSuccessAt = Date.now()
  }

  /** Waits before the next attempt, longer after each failure. */
  async pause(): Promise<void> {
    await pause(backoffMs(this.#failures++), this.#signal)
  }
}

/** Whether a later attempt may succeed. */
export function isTransient(error: unknown): boolean {
  return (
    error instanceof ApiError &&
    (error.code === 'connection_failed' || error.code === 'compute_unavailable')
  )
}
