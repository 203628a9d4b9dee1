import { setTimeout as pause } from 'node:timers/promises'
import { SerialQueue } from '../serial-queue.ts'
import type { Rectangle } from '../x11/requests.ts'
import type { XSession } from '../x11/session.ts'
import { BlockMotion } from './block-motion.ts'
import { ScreenGrabber } from './grabber.ts'
import { tileArea } from './grid.ts'

export type SettleOptions = {
  /** How long nothing may move. */
  readonly settleMs: number
  readonly timeoutMs: number
  /** Default: the whole screen. */
  readonly region?: Rectangle | undefined
  readonly ignored: readonly Rectangle[]
  readonly signal: AbortSignal
}

/** `changing` is where the screen moved in the last `settleMs`, or null if it has settled. */
export type Settled = { readonly changing: Rectangle | null }

/**
 * Waits until nothing on the screen has moved for a while (block-motion.ts). All who wait share one
 * grabber, which costs nothing while nothing is drawn and is gone when nobody waits. What is known of
 * the blocks is kept, so that a text cursor that blinked for the last caller need not blink twice for
 * the next.
 */
export class Settling {
  readonly #session: XSession
  readonly #queue = new SerialQueue()
  #motion: BlockMotion
  #grabber: ScreenGrabber | undefined
  #waiting = 0
  /** The first grab shows what changed while nobody waited, and not when. */
  #isFirstGrab = true

  constructor(session: XSession) {
    this.#session = session
    this.#motion = new BlockMotion(session.size)
  }

  async wait({ settleMs, timeoutMs, region, ignored, signal }: SettleOptions): Promise<Settled> {
    const startMs = performance.now()
    const endMs = startMs + timeoutMs
    const grabber = this.#enter()
    try {
      for (;;) {
        await this.#queue.run(() => this.#sample(grabber))
        const sampledMs = performance.now()
        const area = region ?? { x: 0, y: 0, ...this.#session.size }
        const last = this.#motion.last(area, ignored, settleMs)
        const dueMs = Math.max(startMs, last?.atMs ?? startMs) + settleMs
        if (sampledMs >= dueMs) return { changing: null }
        if (sampledMs >= endMs) return { changing: last?.where ?? area }
        // Whole milliseconds, because a timer may fire just before the fraction has passed.
        const wakeMs = Math.min(sampleEveryMs, Math.ceil(Math.min(dueMs, endMs) - sampledMs))
        await pause(wakeMs, undefined, { signal })
      }
    } finally {
      this.#leave()
    }
  }

  #enter(): ScreenGrabber {
    this.#waiting++
    if (!this.#grabber) {
      this.#grabber = new ScreenGrabber(this.#session, () => {})
      this.#isFirstGrab = true
    }
    return this.#grabber
  }

  #leave(): void {
    if (--this.#waiting > 0) return
    this.#grabber?.[Symbol.dispose]()
    this.#grabber = undefined
  }

  /** Once it resolves, everything drawn before has been seen. */
  async #sample(grabber: ScreenGrabber): Promise<void> {
    await this.#session.x.sync()
    if (!grabber.hasDamage) return
    const { grid, isNew, changed } = await grabber.grab()
    const atMs = this.#isFirstGrab ? null : performance.now()
    this.#isFirstGrab = false
    if (isNew && (grid.width !== this.#motion.width || grid.height !== this.#motion.height)) {
      this.#motion = new BlockMotion(grid)
    }
    for (const tile of changed) this.#motion.update(grabber.frame, tileArea(grid, tile), atMs)
  }
}

const sampleEveryMs = 25
