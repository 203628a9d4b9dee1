import { frameKind, type FrameLimits } from './guest-streams.ts'

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

/**
 * Splits a byte stream into frames. Throws on a frame of another kind, or one that is too long. A frame
 * costs no more memory than it is long, however small the pieces in which it arrives.
 */
export class FrameReader {
  readonly #limits: FrameLimits
  readonly #head = Buffer.alloc(headerBytes)
  /** The bytes in `#head`. */
  #headLength = 0
  /** The frame whose first bytes have arrived. */
  #partial: { readonly kind: number; readonly payload: Buffer; length: number } | undefined

  constructor(limits: FrameLimits) {
    this.#limits = limits
  }

  /** The frames that are now complete. Their payloads may share memory with the chunk. */
  *push(chunk: Buffer): Generator<GuestFrame> {
    let rest = chunk
    while (rest.length > 0) {
      if (!this.#partial) {
        rest = this.#readHead(rest)
        if (this.#headLength < headerBytes) return
        const { kind, payloadBytes } = this.#parseHead()
        if (rest.length >= payloadBytes) {
          this.#headLength = 0
          yield { kind, payload: rest.subarray(0, payloadBytes) }
          rest = rest.subarray(payloadBytes)
          continue
        }
        this.#partial = { kind, payload: Buffer.allocUnsafe(payloadBytes), length: 0 }
      }
      const { kind, payload, length } = this.#partial
      const copied = rest.copy(payload, length)
      this.#partial.length += copied
      rest = rest.subarray(copied)
      if (this.#partial.length < payload.length) return
      this.#partial = undefined
      this.#headLength = 0
      yield { kind, payload }
    }
  }

  #readHead(bytes: Buffer): Buffer {
    const copied = bytes.copy(this.#head, this.#headLength)
    this.#headLength += copied
    return bytes.subarray(copied)
  }

  #parseHead(): { readonly kind: number; readonly payloadBytes: number } {
    const [payloadBytes, kind] = [this.#head.readUInt32BE(0), this.#head.readUInt8(4)]
    if (kind !== frameKind.control && kind !== frameKind.payload) {
      throw new Error(`a frame of the unknown kind ${kind}`)
    }
    const maxBytes = kind === frameKind.payload ? this.#limits.payload : this.#limits.control
    if (payloadBytes > maxBytes) {
      throw new Error(`a frame of ${payloadBytes} bytes exceeds the limit of ${maxBytes}`)
    }
    return { kind, payloadBytes }
  }
}
