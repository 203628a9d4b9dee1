/** A pixel format as in SetPixelFormat. */
export type TestFormat = {
  readonly bits: number
  readonly depth: number
  readonly bigEndian: boolean
  readonly max: readonly [number, number, number]
  readonly shift: readonly [number, number, number]
}

export const formatOfServer: TestFormat = {
  bits: 32,
  depth: 24,
  bigEndian: false,
  max: [255, 255, 255],
  shift: [16, 8, 0],
}

/** The format that noVNC requests. */
export const formatOfNovnc: TestFormat = { ...formatOfServer, shift: [0, 8, 16] }

export const formatOf16Bits: TestFormat = {
  bits: 16,
  depth: 16,
  bigEndian: false,
  max: [31, 63, 31],
  shift: [11, 5, 0],
}

export function writeFormat({ bits, depth, bigEndian, max, shift }: TestFormat): Buffer {
  const maxima = Buffer.alloc(6)
  for (const [index, value] of max.entries()) maxima.writeUInt16BE(value, index * 2)
  return Buffer.concat([
    Buffer.of(bits, depth, bigEndian ? 1 : 0, 1),
    maxima,
    Buffer.of(...shift, 0, 0, 0),
  ])
}

export function readFormat(bytes: Buffer): TestFormat {
  if (bytes[3] !== 1) throw new Error('a colour map')
  return {
    bits: bytes[0]!,
    depth: bytes[1]!,
    bigEndian: bytes[2] === 1,
    max: [bytes.readUInt16BE(4), bytes.readUInt16BE(6), bytes.readUInt16BE(8)],
    shift: [bytes[10]!, bytes[11]!, bytes[12]!],
  }
}

/** The raw values of the three channels, not scaled to bytes. */
export function unpackChannels(bytes: Buffer, { bits, bigEndian, max, shift }: TestFormat) {
  const size = bits / 8
  return Array.from({ length: bytes.length / size }, (_, index) => {
    const pixel = bytes.subarray(index * size, (index + 1) * size)
    const value = bigEndian ? pixel.readUIntBE(0, size) : pixel.readUIntLE(0, size)
    return max.map((most, channel) => Math.floor(value / 2 ** shift[channel]!) % (most + 1))
  })
}

export function unpackRgb(bytes: Buffer, format: TestFormat): Buffer {
  const scale = (value: number, channel: number) => Math.round((value * 255) / format.max[channel]!)
  return Buffer.from(unpackChannels(bytes, format).flatMap((pixel) => pixel.map(scale)))
}
