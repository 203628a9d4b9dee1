import { constants, inflateSync } from 'node:zlib'
import sharp from 'sharp'
import type { ByteReader } from './byte-reader.ts'
import { unpackRgb, type TestFormat } from './rfb-format.ts'
import { rfb, type Area, type Size } from './rfb-messages.ts'

/**
 * Decodes one Tight rectangle by the RFB specification. It must reset every zlib stream that it uses,
 * and leave no data over.
 */
export async function readTight(
  reader: ByteReader,
  { width, height }: Size,
  format: TestFormat,
  options: { readonly mayBeJpeg: boolean },
): Promise<Buffer> {
  const isPlain =
    format.bits === 32 && format.depth === 24 && format.max.every((max) => max === 255)
  if (!isPlain) throw new Error('Tight in a format whose pixels are not three bytes')
  if (width > 2048) throw new Error(`a rectangle of Tight ${width} wide`)
  const control = await reader.u8()
  const kind = control >> 4
  if (kind === 8) return Buffer.alloc(width * height * 3, await reader.bytes(3))
  if (kind === 9) {
    if (!options.mayBeJpeg) throw new Error('JPEG for a client that named no quality')
    const jpeg = sharp(await readCounted(reader))
    const { data, info } = await jpeg.removeAlpha().raw().toBuffer({ resolveWithObject: true })
    if (info.width !== width || info.height !== height) throw new Error('JPEG of another size')
    return data
  }
  if (kind > 7) throw new Error(`compression ${control}`)
  const isStreamAnew = (control & (1 << (kind & 3))) !== 0
  if (!isStreamAnew) throw new Error('a zlib stream that goes on')
  const filter = (kind & 4) === 0 ? 0 : await reader.u8()
  if (filter === 0) return readDeflated(reader, width * height * 3)
  if (filter !== 1) throw new Error(`filter ${filter}`)

  const count = (await reader.u8()) + 1
  const colours = await reader.bytes(count * 3)
  const rowBytes = count === 2 ? Math.ceil(width / 8) : width
  const indices = await readDeflated(reader, rowBytes * height)
  const rgb = Buffer.alloc(width * height * 3)
  for (let i = 0; i < width * height; i++) {
    const [x, y] = [i % width, Math.floor(i / width)]
    const byte = indices[y * rowBytes + (count === 2 ? x >> 3 : x)]!
    const index = count === 2 ? (byte >> (7 - (x % 8))) & 1 : byte
    if (index >= count) throw new Error('a colour that the palette has not got')
    colours.copy(rgb, i * 3, index * 3, index * 3 + 3)
  }
  return rgb
}

async function readDeflated(reader: ByteReader, bytes: number): Promise<Buffer> {
  if (bytes < 12) return reader.bytes(bytes)
  const options = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: bytes }
  const inflated = inflateSync(await readCounted(reader), options)
  if (inflated.length !== bytes) throw new Error(`${inflated.length} bytes instead of ${bytes}`)
  return inflated
}

async function readCounted(reader: ByteReader): Promise<Buffer> {
  let length = 0
  for (const shift of [0, 7, 14]) {
    const byte = await reader.u8()
    length += (shift === 14 ? byte : byte % 128) * 2 ** shift
    if (byte < 128) break
  }
  return reader.bytes(length)
}

/** Decodes a cursor of any of the three forms to RGBA. */
export async function readCursor(
  reader: ByteReader,
  { width, height, encoding }: Area & { readonly encoding: number },
  format: TestFormat,
): Promise<Buffer> {
  if (encoding === rfb.cursorWithAlpha) {
    if ((await reader.u32()) !== rfb.raw) throw new Error('a cursor that is not raw')
    return reader.bytes(width * height * 4)
  }
  if (encoding === rfb.vmwareCursor) {
    if ((await reader.u16()) !== 0x0100) throw new Error('a cursor that is not RGBA')
    return reader.bytes(width * height * 4)
  }
  if (encoding !== rfb.cursor) throw new Error(`encoding ${encoding}`)
  const rgb = unpackRgb(await reader.bytes((width * height * format.bits) / 8), format)
  const rowBytes = Math.ceil(width / 8)
  const mask = await reader.bytes(rowBytes * height)
  const pixels = Array.from({ length: width * height }, (_, index) => {
    const [x, y] = [index % width, Math.floor(index / width)]
    const isSet = ((mask[y * rowBytes + (x >> 3)]! >> (7 - (x % 8))) & 1) === 1
    return [...rgb.subarray(index * 3, index * 3 + 3), isSet ? 255 : 0]
  })
  return Buffer.from(pixels.flat())
}
