import { promisify } from 'node:util'
import { constants, deflate, deflateSync } from 'node:zlib'
import { loadSharp } from '../desktop/image-library.ts'
import type { Rectangle } from '../x11/requests.ts'
import { readRgb, type Frame } from './frame.ts'
import { readPalette, type Palette } from './palette.ts'

export type EncodedTile = {
  /** A body of RFB's Tight encoding that needs no earlier one. */
  readonly body: Buffer
  /** Worth encoding once more when it has not changed for a while. */
  readonly isDraft: boolean
}

/**
 * One tile in the form that suits its pixels: one colour, a palette (what text and widgets have), all
 * of them (pictures with much flat area), or JPEG. `still` is for pixels that have not changed for a
 * while: as they are if that does not take too much, else a JPEG that is hardly told from them.
 * The frame is read before the first wait.
 */
export async function encodeTile(
  frame: Frame,
  area: Rectangle,
  pace: 'moving' | 'still',
): Promise<EncodedTile> {
  const palette = readPalette(frame, area)
  const { colours, repeats } = palette
  if (colours) return { body: encodePalette(colours, palette, area), isDraft: false }

  const rgb = readRgb(frame, area)
  const isFlat = repeats > (area.width * area.height) / 2
  if (pace === 'moving' && !isFlat) {
    return { body: await encodeJpeg(rgb, area, draftQuality), isDraft: true }
  }
  const packed = await deflateAll(rgb, deflateOptions)
  const isWorthIt = isFlat || packed.length < rgb.length / 2
  const body = isWorthIt
    ? Buffer.concat([Buffer.of(resetStream), compactLength(packed.length), packed])
    : await encodeJpeg(rgb, area, stillQuality)
  return { body, isDraft: false }
}

const draftQuality = 80
const stillQuality = 95
const deflateAll = promisify<Buffer, typeof deflateOptions, Buffer>(deflate)
/** As in a stream that goes on, which is what viewers expect of one. */
const deflateOptions = { level: 1, finishFlush: constants.Z_SYNC_FLUSH }

/** Control bytes of Tight: zlib's first stream anew, without or with the number of a filter. */
const resetStream = 0x01
const resetStreamWithFilter = 0x41
const fill = 0x80
const jpeg = 0x90
const paletteFilter = 1
/** Less is not compressed. */
const leastDeflated = 12

function encodePalette(colours: readonly number[], palette: Palette, area: Rectangle): Buffer {
  const rgb = Buffer.from(colours.flatMap((colour) => [colour >>> 16, colour >>> 8, colour]))
  if (colours.length === 1) return Buffer.concat([Buffer.of(fill), rgb])
  const { width, height } = area
  const data = colours.length === 2 ? packBits(palette.indices, area) : palette.indices
  const bytes = data.subarray(0, (colours.length === 2 ? Math.ceil(width / 8) : width) * height)
  const head = Buffer.of(resetStreamWithFilter, paletteFilter, colours.length - 1)
  if (bytes.length < leastDeflated) return Buffer.concat([head, rgb, bytes])
  const packed = deflateSync(bytes, deflateOptions)
  return Buffer.concat([head, rgb, compactLength(packed.length), packed])
}

/** A bit for each pixel, each row from a byte of its own. */
function packBits(indices: Uint8Array, { width, height }: Rectangle): Uint8Array {
  const rowBytes = Math.ceil(width / 8)
  const bits = new Uint8Array(rowBytes * height)
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at++) {
      bits[y * rowBytes + (x >> 3)]! |= indices[at]! << (7 - (x & 7))
    }
  }
  return bits
}

async function encodeJpeg(rgb: Buffer, area: Rectangle, quality: number): Promise<Buffer> {
  const { default: sharp } = await loadSharp()
  const { width, height } = area
  const image = sharp(rgb, { raw: { width, height, channels: 3 } })
  const options = { quality, chromaSubsampling: '4:4:4', optimiseCoding: false }
  const bytes = await image.jpeg(options).toBuffer()
  return Buffer.concat([Buffer.of(jpeg), compactLength(bytes.length), bytes])
}

/** Seven bits a byte, the lowest first, at most three bytes. */
function compactLength(length: number): Buffer {
  if (length < 1 << 7) return Buffer.of(length)
  if (length < 1 << 14) return Buffer.of((length & 0x7f) | 0x80, length >> 7)
  return Buffer.of((length & 0x7f) | 0x80, ((length >> 7) & 0x7f) | 0x80, length >> 14)
}
