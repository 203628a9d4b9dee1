import { inputMessageBurst, inputMessagesPerSecond } from '@computer/contract'

/** How many messages a socket may still send: so many a second, after a burst. */
export class MessageRate {
  readonly #now: () => number
  #left = inputMessageBurst
  #atMs: number

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
    this.#atMs = now()
  }

  /** Counts one. False if it is too many. */
  take(): boolean {
    const nowMs = this.#now()
    const gained = ((nowMs - this.#atMs) / 1000) * inputMessagesPerSecond
    this.#left = Math.min(inputMessageBurst, this.#left + gained)
    this.#atMs = nowMs
    if (this.#left < 1) return false
    this.#left -= 1
    return true
  }
}
