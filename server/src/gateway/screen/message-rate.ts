import { inputMessageBurst, inputMessagesPerSecond } from '@computer/contract'

/** Token bucket for the input messages of one connection. */
export class MessageRate {
  readonly #now: () => number
  #tokens = inputMessageBurst
  #atMs: number

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
    this.#atMs = now()
  }

  /** Counts one message. False if it is over the limit. */
  take(): boolean {
    const nowMs = this.#now()
    const gained = ((nowMs - this.#atMs) / 1000) * inputMessagesPerSecond
    this.#tokens = Math.min(inputMessageBurst, this.#tokens + gained)
    this.#atMs = nowMs
    if (this.#tokens < 1) return false
    this.#tokens -= 1
    return true
  }
}
