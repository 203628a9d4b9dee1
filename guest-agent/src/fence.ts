import { Refusal } from './refusal.ts'

/**
 * The fence. Whoever holds the machine's input lease acts under a number that rises with every
 * grant; the server tells it here before the grant is answered. Once `raise` has resolved, nothing
 * of an earlier grant can reach the display:
 *
 * - inputs run one at a time, in the order they came;
 * - each checks its number when its turn comes, so that one that waited never starts, and again
 *   before every event it makes, so that one in progress breaks off when the holder changed;
 * - `raise` queues behind them, lets go of everything still pressed and waits until the X server
 *   has done all of it.
 *
 * A renewal raises the number and keeps where the holding began: `since`. It takes nothing from
 * anybody, so every number from there on is as good as the newest: what the holder has in progress
 * goes on (a long text outlives the renewals of its lease), what it has on its way is admitted (a key
 * that did not go up would be stuck), and `raise` answers as soon as its own grant is settled.
 *
 * An input with a higher number than was ever told is refused like one before any was: the server
 * then tells the number, and what that implies happens first.
 */
export class Fence {
  current: number | null = null
  /** The first fence of the present holding. */
  #since = 0
  #turn: Promise<unknown> = Promise.resolve()
  /** Resolves when nothing of an earlier holder is left: a renewal too waits for that. */
  #settled: Promise<void> = Promise.resolve()
  #running: { readonly fence: number; readonly abort: AbortController } | undefined

  /** Runs one input when its turn comes. */
  input<T>(fence: number, act: (grant: Grant) => Promise<T>): Promise<T> {
    return this.#enqueue(async () => {
      this.#admit(fence)
      const abort = new AbortController()
      const grant = { check: () => this.#goOn(fence), signal: abort.signal }
      this.#running = { fence, abort }
      try {
        return await act(grant)
      } finally {
        this.#running = undefined
      }
    })
  }

  /** `settle` releases what is pressed and makes what was sent take effect. */
  raise(
    told: { readonly fence: number; readonly since: number },
    settle: () => Promise<void>,
  ): Promise<number> {
    if (this.current !== null && told.fence < this.current) return Promise.resolve(this.current)
    const isRenewal = this.current !== null && this.#since === told.since
    this.current = told.fence
    if (isRenewal) return this.#settled.then(() => this.current ?? told.fence)
    this.#since = told.since
    if (this.#running && this.#running.fence < told.since) this.#running.abort.abort()
    this.#settled = this.#enqueue(settle)
    return this.#settled.then(() => this.current ?? told.fence)
  }

  /** Whether an input may begin. */
  #admit(fence: number): void {
    if (this.current === null || fence > this.current) {
      throw new Refusal('conflict', 'the agent was not told this fence yet', {
        reason: 'fence_unknown',
      })
    }
    this.#goOn(fence)
  }

  /** Whether one that has begun may go on. */
  #goOn(fence: number): void {
    if (fence < this.#since) throw stale(fence, this.#since)
  }

  #enqueue<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work)
    this.#turn = result.catch(() => {})
    return result
  }
}

/** Held by an input while it runs. */
export type Grant = {
  /** Throws once the lease is another's. Called before every single event. */
  check(): void
  /** Aborts waiting (not events: those are checked) when the lease is another's. */
  readonly signal: AbortSignal
}

function stale(fence: number, since: number): Refusal {
  return new Refusal('conflict', `fence ${fence} was followed by ${since}`, {
    reason: 'fence_stale',
  })
}
