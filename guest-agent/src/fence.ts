import { Refusal } from './refusal.ts'

/**
 * The fence. Whoever holds the machine's input lease acts under a number that rises with every
 * grant; the server tells it here before the grant is answered. Once `raise` has resolved, nothing
 * of an earlier grant can reach the display:
 *
 * - inputs run one at a time, in the order they came;
 * - each checks its number when its turn comes and again before every event it makes, so that one
 *   in progress breaks off at its next event, and one that waited never starts;
 * - `raise` queues behind them, lets go of everything still pressed if the holder changed, and
 *   waits until the X server has done all of it.
 *
 * An input with a higher number than was ever told is refused like one before any was: the server
 * then tells the number, and what that implies happens first.
 */
export class Fence {
  current: number | null = null
  #holder: string | null = null
  #turn: Promise<unknown> = Promise.resolve()
  #running: { readonly fence: number; readonly abort: AbortController } | undefined

  /** Runs one input when its turn comes. */
  input<T>(fence: number, act: (grant: Grant) => Promise<T>): Promise<T> {
    return this.#enqueue(async () => {
      const abort = new AbortController()
      const grant = { check: () => this.#check(fence), signal: abort.signal }
      grant.check()
      this.#running = { fence, abort }
      try {
        return await act(grant)
      } finally {
        this.#running = undefined
      }
    })
  }

  /** `settle` makes what was sent take effect, and releases what is pressed if `release` is set. */
  raise(
    told: { readonly fence: number; readonly holder: string | null },
    settle: (change: { readonly release: boolean }) => Promise<void>,
  ): Promise<number> {
    if (this.current !== null && told.fence < this.current) return Promise.resolve(this.current)
    const release = this.#holder !== told.holder
    this.current = told.fence
    this.#holder = told.holder
    if (this.#running && this.#running.fence < told.fence) this.#running.abort.abort()
    return this.#enqueue(async () => {
      await settle({ release })
      return this.current ?? told.fence
    })
  }

  #check(fence: number): void {
    if (this.current === null || fence > this.current) {
      throw new Refusal('conflict', 'the agent was not told this fence yet', {
        reason: 'fence_unknown',
      })
    }
    if (fence < this.current) {
      throw new Refusal('conflict', `fence ${fence} was followed by ${this.current}`, {
        reason: 'fence_stale',
      })
    }
  }

  #enqueue<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work)
    this.#turn = result.catch(() => {})
    return result
  }
}

/** Held by an input while it runs. */
export type Grant = {
  /** Throws once a later grant was told. Called before every single event. */
  check(): void
  /** Aborts waiting (not events: those are checked) when a later grant was told. */
  readonly signal: AbortSignal
}
