import {
  encodeCompactLength,
  paletteIndexBytes,
  tightControl,
  tightMinDeflatedBytes,
  tightPaletteFilter,
} from '@computer/contract/tiles'
import { promisify } from 'node:util'
import { constants, deflate, deflateSync } from 'node:zlib'
import { loadSharp } from '../desktop/image-library.ts'
import type { Rectangle } from '../x11/requests.ts'
import { readRgb, type Frame } from './frame.ts'
import { readPalette, type Palette } from './palette.ts'

type EncodedTile = {
  /** A body of Tight, see the contract's tiles.ts. */
  readonly body: Buffer
  /** Worth encoding again with better quality once it has not changed for a while. */
  readonly isDraft: boolean
}

/**
 * Encodes a tile in the form that suits its pixels: a single colour, a palette (text and widgets),
 * all pixels (images with large flat areas), or JPEG. `still` is for pixels that have not changed
 * for a while: lossless if that is small enough, else a JPEG of high quality. The frame is read
 * before the first await.
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
    ? Buffer.concat([Buffer.of(tightControl.copy), encodeCompactLength(packed.length), packed])
    : await encodeJpeg(rgb, area, stillQuality)
  return { body, isDraft: false }
}

const draftQuality = 80
const stillQuality = 95
const deflateAll = promisify<Buffer, typeof deflateOptions, Buffer>(deflate)
/** Flushed, not ended: viewers expect a stream that continues. */
const deflateOptions = { level: 1, finishFlush: constants.Z_SYNC_FLUSH }

function encodePalette(colours: readonly number[], palette: Palette, area: Rectangle): Buffer {
  const rgb = Buffer.from(colours.flatMap((colour) => [colour >>> 16, colour >>> 8, colour]))
  if (colours.length === 1) return Buffer.concat([Buffer.of(tightControl.fill), rgb])
  const { width, height } = area
  const data = colours.length === 2 ? packBits(palette.indices, area) : palette.indices
  const bytes = data.subarray(0, paletteIndexBytes(colours.length, width, height))
  const head = Buffer.of(tightControl.filter, tightPaletteFilter, colours.length - 1)
  if (bytes.length < tightMinDeflatedBytes) return Buffer.concat([head, rgb, bytes])
  const packed = deflateSync(bytes, deflateOptions)
  return Buffer.concat([head, rgb, encodeCompactLength(packed.length), packed])
}

/** One bit for each pixel; each row begins at a byte. */
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
  return Buffer.concat([Buffer.of(tightControl.jpeg), encodeCompactLength(bytes.length), bytes])
}
