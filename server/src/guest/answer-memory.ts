/**
 * The memory of this process for the answers of one machine that are held whole. An answer gets what it
 * may need before it is read, in the order of asking: those that have some can always be read to their
 * end.
 */
export class AnswerMemory {
  #freeBytes: number
  readonly #waiting: { readonly bytes: number; readonly grant: () => void }[] = []

  constructor(bytes: number) {
    this.#freeBytes = bytes
  }

  /** Resolves to the function that gives the memory back. */
  async take(bytes: number): Promise<() => void> {
    if (this.#waiting.length > 0 || bytes > this.#freeBytes) {
      await new Promise<void>((grant) => this.#waiting.push({ bytes, grant }))
    } else this.#freeBytes -= bytes
    return () => this.#give(bytes)
  }

  #give(bytes: number): void {
    this.#freeBytes += bytes
    while (this.#waiting.length > 0 && this.#waiting[0]!.bytes <= this.#freeBytes) {
      const { bytes: granted, grant } = this.#waiting.shift()!
      this.#freeBytes -= granted
      grant()
    }
  }
}
