/** Keeps the last `limit` bytes of a stream, in no more memory than that. */
export class TailBuffer {
  readonly #limit: number
  #ring: Buffer
  #total = 0

  constructor(limit: number) {
    this.#limit = limit
    this.#ring = Buffer.allocUnsafe(Math.min(limit, 4096))
  }

  get truncated(): boolean {
    return this.#total > this.#limit
  }

  push(chunk: Buffer): void {
    if (this.#total < this.#limit) this.#grow(this.#total + chunk.length)
    // Only the end of a chunk longer than the ring is kept.
    const skipped = Math.max(0, chunk.length - this.#ring.length)
    const at = (this.#total + skipped) % this.#ring.length
    const copied = chunk.copy(this.#ring, at, skipped)
    chunk.copy(this.#ring, 0, skipped + copied)
    this.#total += chunk.length
  }

  bytes(): Buffer {
    if (!this.truncated) return Buffer.from(this.#ring.subarray(0, this.#total))
    const at = this.#total % this.#limit
    return Buffer.concat([this.#ring.subarray(at), this.#ring.subarray(0, at)])
  }

  /** As UTF-8, invalid bytes replaced. A character that the limit cut is dropped. */
  text(): string {
    if (!this.truncated) return this.#ring.toString('utf8', 0, this.#total)
    const bytes = this.bytes()
    let start = 0
    while (start < 3 && isContinuation(bytes[start]!)) start++
    return bytes.toString('utf8', start)
  }

  #grow(needed: number): void {
    if (needed <= this.#ring.length) return
    const ring = Buffer.allocUnsafe(Math.min(this.#limit, Math.max(needed, this.#ring.length * 2)))
    this.#ring.copy(ring, 0, 0, this.#total)
    this.#ring = ring
  }
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80
}
