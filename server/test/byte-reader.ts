/** Received bytes, read in the order of a protocol. A read waits for bytes that have not arrived yet. */
export class ByteReader {
  #bytes = Buffer.alloc(0)
  #arrived = Promise.withResolvers<void>()

  get isEmpty(): boolean {
    return this.#bytes.length === 0
  }

  push(bytes: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, bytes])
    this.#arrived.resolve()
  }

  async bytes(count: number): Promise<Buffer> {
    while (this.#bytes.length < count) {
      this.#arrived = Promise.withResolvers()
      await this.#arrived.promise
    }
    const bytes = this.#bytes.subarray(0, count)
    this.#bytes = this.#bytes.subarray(count)
    return bytes
  }

  async u8(): Promise<number> {
    return (await this.bytes(1))[0]!
  }

  async u16(): Promise<number> {
    return (await this.bytes(2)).readUInt16BE(0)
  }

  async u32(): Promise<number> {
    return (await this.bytes(4)).readUInt32BE(0)
  }

  async padding(count: number): Promise<void> {
    if ((await this.bytes(count)).some((byte) => byte !== 0)) throw new Error('padding is 0')
  }
}
