import { AgentError } from './errors.ts'
import { SerialQueue } from './serial-queue.ts'

/**
 * The fence. The holder of the machine's input lease acts under a number that rises with every
 * grant; the server raises the fence here before it answers the grant. Once `raise` has resolved,
 * no input of an earlier holder can reach the display:
 *
 * - inputs run one at a time, in the order they arrive;
 * - each checks its number when it starts, so that a queued one never runs, and again before every
 *   event it sends, so that a running one breaks off when the holder changes;
 * - `raise` queues behind them, releases everything that is pressed and waits until the X server
 *   has processed all of it.
 *
 * A renewal raises the number and keeps `since`, the first number of the holding. It takes the
 * lease from nobody, so every number from `since` on stays valid: running input continues (a long
 * text outlives the renewals of its lease), input in flight is admitted (a key whose release was
 * refused would stick), and `raise` answers as soon as the holding's own release is done.
 *
 * An input with a higher number than the agent knows is refused, as is any before the first
 * `raise`: the server then raises the fence and tries again, so that the release happens first.
 */
export class Fence {
  current: number | null = null
  /** The first fence of the present holding. */
  #since = 0
  readonly #queue = new SerialQueue()
  /** Resolves when nothing of an earlier holder is left. Renewals wait for it too. */
  #released: Promise<void> = Promise.resolve()
  #running: { readonly fence: number; readonly abort: AbortController } | undefined

  /** Runs one input after those before it. */
  input<T>(fence: number, act: (grant: FenceGrant) => Promise<T>): Promise<T> {
    return this.#queue.run(async () => {
      this.#checkAdmission(fence)
      const abort = new AbortController()
      const grant = { check: () => this.#checkHolding(fence), signal: abort.signal }
      this.#running = { fence, abort }
      try {
        return await act(grant)
      } finally {
        this.#running = undefined
      }
    })
  }

  /**
   * `release` lifts what is pressed and waits until everything sent so far has taken effect. If this begins a new
   * holding, `begin` is called at once, with a promise for the end of `release`.
   */
  raise(
    to: { readonly fence: number; readonly since: number },
    release: () => Promise<void>,
    begin: (released: Promise<void>) => void = () => {},
  ): Promise<number> {
    if (this.current !== null && to.fence < this.current) return Promise.resolve(this.current)
    const isRenewal = this.current !== null && this.#since === to.since
    this.current = to.fence
    if (isRenewal) return this.#released.then(() => this.current ?? to.fence)
    this.#since = to.since
    if (this.#running && this.#running.fence < to.since) this.#running.abort.abort()
    this.#released = this.#queue.run(release)
    begin(this.#released)
    return this.#released.then(() => this.current ?? to.fence)
  }

  #checkAdmission(fence: number): void {
    if (this.current === null || fence > this.current) {
      throw new AgentError('conflict', 'the agent does not know this fence yet', {
        reason: 'fence_unknown',
      })
    }
    this.#checkHolding(fence)
  }

  #checkHolding(fence: number): void {
    if (fence < this.#since) throw stale(fence, this.#since)
  }
}

/** Held by an input while it runs. */
export type FenceGrant = {
  /** Throws once another holder has the lease. Called before every single event. */
  check(): void
  /** Aborts pauses when another holder takes the lease. Events are guarded by `check`. */
  readonly signal: AbortSignal
}

function stale(fence: number, since: number): AgentError {
  return new AgentError('conflict', `fence ${fence} was superseded by ${since}`, {
    reason: 'fence_stale',
  })
}
