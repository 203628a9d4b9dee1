/** Bytes that have come and are not taken yet, in one piece, however many pieces they came in. */
export class ByteQueue {
  #bytes: Buffer = Buffer.alloc(0)
  #start = 0
  #end = 0

  get length(): number {
    return this.#end - this.#start
  }

  /** Keeps the chunk itself if nothing waits: most messages come whole. */
  push(chunk: Buffer): void {
    if (this.length === 0) {
      this.#bytes = chunk
      this.#start = 0
      this.#end = chunk.length
      return
    }
    if (this.#end + chunk.length > this.#bytes.length) {
      const roomier = Buffer.allocUnsafe(2 * (this.length + chunk.length))
      this.#end = this.#bytes.copy(roomier, 0, this.#start, this.#end)
      this.#start = 0
      this.#bytes = roomier
    }
    this.#end += chunk.copy(this.#bytes, this.#end)
  }

  /** The first bytes, or undefined if there are not so many yet. */
  peek(count: number): Buffer | undefined {
    if (count > this.length) return undefined
    return this.#bytes.subarray(this.#start, this.#start + count)
  }

  take(count: number): Buffer | undefined {
    const bytes = this.peek(count)
    if (bytes) this.#start += count
    return bytes
  }
}
