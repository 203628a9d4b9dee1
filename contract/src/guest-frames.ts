import { frameKind, maxFrameBytes } from './guest-streams.ts'

/** A frame of the guest streams: see guest-streams.ts. */
type GuestFrame = { readonly kind: number; readonly payload: Buffer }

const headerBytes = 5

export function encodeFrame(kind: number, ...parts: readonly Uint8Array[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  const header = Buffer.allocUnsafe(headerBytes)
  header.writeUInt32BE(length, 0)
  header.writeUInt8(kind, 4)
  return Buffer.concat([header, ...parts], headerBytes + length)
}

export function encodeControl(message: unknown): Buffer {
  return encodeFrame(frameKind.control, Buffer.from(JSON.stringify(message)))
}

/** Splits a byte stream into frames. Throws on a frame beyond the limit. */
export class FrameReader {
  readonly #maxBytes: number
  #chunks: Buffer[] = []
  #length = 0

  constructor(maxBytes = maxFrameBytes) {
    this.#maxBytes = maxBytes
  }

  /** The frames that are now complete. Their payloads may share memory with the chunks. */
  *push(chunk: Buffer): Generator<GuestFrame> {
    this.#chunks.push(chunk)
    this.#length += chunk.length
    while (this.#length >= headerBytes) {
      const head = this.#peek(headerBytes)
      const payloadBytes = head.readUInt32BE(0)
      if (payloadBytes > this.#maxBytes)
        throw new Error(`a frame of ${payloadBytes} bytes exceeds the limit of ${this.#maxBytes}`)
      const frameBytes = headerBytes + payloadBytes
      if (this.#length < frameBytes) return
      const frame = this.#peek(frameBytes)
      this.#drop(frameBytes)
      yield { kind: head.readUInt8(4), payload: frame.subarray(headerBytes, frameBytes) }
    }
  }

  /** The first bytes in one buffer. Chunks that are joined for it stay joined. */
  #peek(count: number): Buffer {
    if (this.#chunks[0]!.length < count) this.#chunks = [Buffer.concat(this.#chunks, this.#length)]
    return this.#chunks[0]!
  }

  #drop(count: number): void {
    this.#length -= count
    const rest = this.#chunks[0]!.subarray(count)
    if (rest.length > 0) this.#chunks[0] = rest
    else this.#chunks.shift()
  }
}
