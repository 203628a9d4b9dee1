import { RfbError } from './error.ts'

/** True colour. A channel occupies the bits from `shift` on; `max` has all of them set. */
export type PixelFormat = {
  readonly bitsPerPixel: 8 | 16 | 32
  readonly depth: number
  readonly isBigEndian: boolean
  readonly red: Channel
  readonly green: Channel
  readonly blue: Channel
}
type Channel = { readonly max: number; readonly shift: number }

/** The format until the client sets another one. */
export const naturalFormat: PixelFormat = {
  bitsPerPixel: 32,
  depth: 24,
  isBigEndian: false,
  red: { max: 255, shift: 16 },
  green: { max: 255, shift: 8 },
  blue: { max: 255, shift: 0 },
}

export const pixelFormatBytes = 16

export function readPixelFormat(bytes: Buffer): PixelFormat {
  const [bitsPerPixel, depth] = [bytes.readUInt8(0), bytes.readUInt8(1)]
  if (bitsPerPixel !== 8 && bitsPerPixel !== 16 && bitsPerPixel !== 32) {
    throw new RfbError(`a pixel format with ${bitsPerPixel} bits per pixel`)
  }
  if (depth === 0 || depth > bitsPerPixel) {
    throw new RfbError(`a depth of ${depth} in ${bitsPerPixel} bits`)
  }
  if (bytes.readUInt8(3) === 0)
    throw new RfbError('a pixel format with a colour map is not supported')
  const [red, green, blue] = [0, 1, 2].map((index) => ({
    max: bytes.readUInt16BE(4 + index * 2),
    shift: bytes.readUInt8(10 + index),
  })) as [Channel, Channel, Channel]
  requireApart([red, green, blue], bitsPerPixel)
  return { bitsPerPixel, depth, isBigEndian: bytes.readUInt8(2) !== 0, red, green, blue }
}

export function writePixelFormat(format: PixelFormat): Buffer {
  const { red, green, blue } = format
  const bytes = Buffer.alloc(pixelFormatBytes)
  bytes.set([format.bitsPerPixel, format.depth, Number(format.isBigEndian), 1])
  for (const [index, { max, shift }] of [red, green, blue].entries()) {
    bytes.writeUInt16BE(max, 4 + index * 2)
    bytes.writeUInt8(shift, 10 + index)
  }
  return bytes
}

/**
 * In these formats Tight sends pixels as three bytes: red, green, blue. The agent's tiles use them.
 * Requires channels on byte boundaries, because clients disagree about others.
 */
export function hasTightPixels({ bitsPerPixel, depth, red, green, blue }: PixelFormat): boolean {
  const isByte = ({ max, shift }: Channel) => max === 255 && shift % 8 === 0
  return bitsPerPixel === 32 && depth === 24 && isByte(red) && isByte(green) && isByte(blue)
}

export type PackPixels = (pixels: Buffer, channels: 3 | 4) => Buffer

/** Packs pixels of red, green, blue and optionally alpha, which is dropped. */
export function pixelPacker(format: PixelFormat): PackPixels {
  const [red, green, blue] = [format.red, format.green, format.blue].map((channel) =>
    channelTable(channel, format),
  ) as [Uint32Array, Uint32Array, Uint32Array]
  const pixelBytes = format.bitsPerPixel / 8
  return (pixels, channels) => {
    const packed = Buffer.allocUnsafe((pixels.length / channels) * pixelBytes)
    const view = new DataView(packed.buffer, packed.byteOffset, packed.length)
    for (let from = 0, to = 0; from < pixels.length; from += channels, to += pixelBytes) {
      const pixel = red[pixels[from]!]! | green[pixels[from + 1]!]! | blue[pixels[from + 2]!]!
      if (pixelBytes === 4) view.setUint32(to, pixel, true)
      else if (pixelBytes === 2) view.setUint16(to, pixel, true)
      else view.setUint8(to, pixel)
    }
    return packed
  }
}

/** Maps each channel value to its bits in a pixel that is written in little endian. */
function channelTable({ max, shift }: Channel, { bitsPerPixel, isBigEndian }: PixelFormat) {
  return Uint32Array.from({ length: 256 }, (_, value) => {
    const pixel = (Math.round((value * max) / 255) << shift) >>> 0
    return isBigEndian ? reverseBytes(pixel, bitsPerPixel / 8) : pixel
  })
}

function reverseBytes(value: number, count: number): number {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes.readUIntBE(0, count)
}

function requireApart(channels: readonly Channel[], bitsPerPixel: number): void {
  let taken = 0n
  for (const { max, shift } of channels) {
    const mask = BigInt(max) << BigInt(shift)
    if (max === 0 || (max & (max + 1)) !== 0) throw new RfbError(`a colour maximum of ${max}`)
    if (mask >= 1n << BigInt(bitsPerPixel) || (taken & mask) !== 0n) {
      throw new RfbError('a pixel format with overlapping or oversized colours')
    }
    taken |= mask
  }
}
