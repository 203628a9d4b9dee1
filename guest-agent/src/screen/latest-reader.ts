/**
 * Reads a value again whenever it has changed, one read at a time. A change during a read causes
 * one more, and the outdated value is dropped. A read that fails counts as one without a value.
 */
export class LatestReader<T> implements Disposable {
  readonly #read: () => Promise<T | undefined>
  readonly #onValue: (value: T) => void
  #isReading = false
  #isStale = false
  #isDisposed = false

  constructor(read: () => Promise<T | undefined>, onValue: (value: T) => void) {
    this.#read = read
    this.#onValue = onValue
  }

  notifyChange(): void {
    this.#isStale = true
    if (!this.#isReading) void this.#run()
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true
  }

  async #run(): Promise<void> {
    this.#isReading = true
    while (this.#isStale && !this.#isDisposed) {
      this.#isStale = false
      const value = await this.#read().catch(() => undefined)
      if (value !== undefined && !this.#isStale && !this.#isDisposed) this.#onValue(value)
    }
    this.#isReading = false
  }
}
