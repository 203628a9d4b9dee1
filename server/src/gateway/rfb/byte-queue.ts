/** Received bytes that are not consumed yet, as one contiguous buffer. */
export class ByteQueue {
  #bytes: Buffer = Buffer.alloc(0)
  #start = 0
  #end = 0

  get length(): number {
    return this.#end - this.#start
  }

  /** Keeps the chunk without copying if the queue is empty, as most messages arrive whole. */
  push(chunk: Buffer): void {
    if (this.length === 0) {
      this.#bytes = chunk
      this.#start = 0
      this.#end = chunk.length
      return
    }
    if (this.#end + chunk.length > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(2 * (this.length + chunk.length))
      this.#end = this.#bytes.copy(larger, 0, this.#start, this.#end)
      this.#start = 0
      this.#bytes = larger
    }
    this.#end += chunk.copy(this.#bytes, this.#end)
  }

  /** The first bytes; undefined if fewer have arrived. */
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
