/*
 * Tiles of the screen stream (guest-streams.ts): a header with the area, then the pixels as a body
 * of RFB's Tight encoding. Viewers get bodies as they are, so a body never depends on an earlier
 * one.
 */

export type TileArea = {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/** x, y, width and height: 2 bytes each, big endian. */
export const tileHeaderBytes = 8

export function encodeTileHeader({ x, y, width, height }: TileArea): Buffer {
  const header = Buffer.allocUnsafe(tileHeaderBytes)
  for (const [index, value] of [x, y, width, height].entries()) {
    header.writeUInt16BE(value, index * 2)
  }
  return header
}

/** Reads the first `tileHeaderBytes` of a tile. */
export function readTileHeader(tile: Buffer): TileArea {
  return {
    x: tile.readUInt16BE(0),
    y: tile.readUInt16BE(2),
    width: tile.readUInt16BE(4),
    height: tile.readUInt16BE(6),
  }
}

/** The control bytes in use. Those with zlib data reset its first stream. */
export const tightControl = {
  /** One colour. */
  fill: 0x80,
  /** A JPEG, after its compact length. */
  jpeg: 0x90,
  /** All pixels, three bytes each. */
  copy: 0x01,
  /** Pixels through a filter, whose number follows. */
  filter: 0x41,
} as const

/** The only filter in use: the number of colours less one, the colours, then an index per pixel. */
export const tightPaletteFilter = 1

/** Tight's limit for the width of a rectangle. */
export const tightMaxWidth = 2048

/** Shorter data is sent as it is; longer data is deflated and follows its compact length. */
export const tightMinDeflatedBytes = 12

/** With two colours an index is one bit, and each row begins at a byte; with more it is a byte. */
export function paletteIndexBytes(colours: number, width: number, height: number): number {
  return (colours === 2 ? Math.ceil(width / 8) : width) * height
}

/** Tight's compact length: seven bits a byte, the lowest first, at most three bytes. */
export function encodeCompactLength(length: number): Buffer {
  if (length < 1 << 7) return Buffer.of(length)
  if (length < 1 << 14) return Buffer.of((length & 0x7f) | 0x80, length >> 7)
  return Buffer.of((length & 0x7f) | 0x80, ((length >> 7) & 0x7f) | 0x80, length >> 14)
}

/** `bytes` is the size of the compact length itself. A missing byte counts as zero. */
export function readCompactLength(data: Buffer): {
  readonly length: number
  readonly bytes: number
} {
  let [length, bytes] = [0, 0]
  for (let shift = 0; ; shift += 7) {
    const byte = data[bytes++] ?? 0
    length |= (shift === 14 ? byte : byte & 0x7f) << shift
    if (shift === 14 || byte < 0x80) return { length, bytes }
  }
}
