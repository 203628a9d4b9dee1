import { setImmediate as nextTurn } from 'node:timers/promises'
import type { SessionId } from '@computer/contract'
import { AgentError } from '../errors.ts'

/**
 * Decides who may look at the screen and read the clipboard. While a holding is private, its session alone may. Once the
 * fence of the holding has been answered, no other look can bring anything from it:
 *
 * - `begin` ends the looks of others that are under way, in the same turn;
 * - a look that had its answer by then has left the agent before `settle` resolves.
 *
 * After a private holding nobody looks until the fence has been answered, because the clipboard is emptied first:
 * looks that arrive earlier wait. The ids of its screenshots stay valid. They are random, and only its session has
 * seen them; they tell whether the screen is still the same, and nothing of what was on it.
 *
 * After a restart of the agent nothing is private until the next fence.
 */
export class Privacy {
  #session: SessionId | null = null
  /** Set from the end of a private holding until the fence of the next is complete. */
  #pause: Promise<void> | undefined
  readonly #looks = new Set<Look>()
  #mustClean = false

  /**
   * A holding begins, which is private to that session, or to nobody; `released` resolves when its fence is complete.
   * Returns whether who may look has changed: then everything that shows the screen continuously must end.
   */
  begin(to: SessionId | null, released: Promise<void>): boolean {
    const from = this.#session
    if (from === null && to === null) return false
    this.#session = to
    for (const look of this.#looks) if (!this.#isFor(look.viewer)) look.end()
    if (from === null) return true
    this.#mustClean = true
    const pause = released
      .catch(() => {})
      .then(() => {
        if (this.#pause === pause) this.#pause = undefined
      })
    this.#pause = pause
    return true
  }

  /**
   * The last part of every fence of a new holding. `clean` removes what a private holding has left behind, and
   * returns whether it could: if not, the next fence tries again.
   */
  async settle(clean: () => Promise<boolean>): Promise<void> {
    if (this.#mustClean) this.#mustClean = !(await clean())
    await nextTurn()
  }

  /** Whether the viewer may look now. */
  allows(viewer: SessionId | undefined): boolean {
    return this.#pause === undefined && this.#isFor(viewer)
  }

  /** Throws screen_private unless the viewer may look. */
  async admit(viewer: SessionId | undefined): Promise<void> {
    while (this.#pause) await this.#pause
    if (!this.#isFor(viewer)) throw screenPrivate()
  }

  /**
   * Answers what `take` does, unless the screen is private to another, or becomes it before the end: then it throws
   * screen_private. The signal for `take` aborts then, and when the caller has gone.
   */
  async look<T>(
    viewer: SessionId | undefined,
    gone: AbortSignal,
    take: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    while (this.#pause) await this.#pause
    if (!this.#isFor(viewer)) throw screenPrivate()
    const abort = new AbortController()
    const ended = Promise.withResolvers<never>()
    const look: Look = {
      viewer,
      end: () => {
        ended.reject(screenPrivate())
        abort.abort()
      },
    }
    this.#looks.add(look)
    try {
      const both = AbortSignal.any([gone, abort.signal])
      return await Promise.race([ended.promise, take(both)])
    } finally {
      this.#looks.delete(look)
    }
  }

  #isFor(viewer: SessionId | undefined): boolean {
    return this.#session === null || this.#session === viewer
  }
}

type Look = { readonly viewer: SessionId | undefined; readonly end: () => void }

function screenPrivate(): AgentError {
  const message =
    'the screen is private to the person who helps; try again when they have handed it back'
  return new AgentError('conflict', message, { reason: 'screen_private' })
}
