/*
 * Decodes, scales and encodes PNG with only what every runtime provides. Covers the PNGs that the server
 * sends: at most 8 bits per channel, not interlaced.
 */

type Bitmap = {
  readonly width: number
  readonly height: number
  /** Four bytes per pixel, row by row. */
  readonly rgba: Uint8Array<ArrayBuffer>
}

const signature = [137, 80, 78, 71, 13, 10, 26, 10]
/** Channels per pixel, by color type: gray, RGB, palette, gray with alpha, RGBA. */
const channelsOf: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 }

export async function decodePng(png: Uint8Array): Promise<Bitmap> {
  const view = new DataView(png.buffer, png.byteOffset, png.byteLength)
  const parts: Uint8Array[] = []
  let palette: Uint8Array = new Uint8Array()
  for (let at = 8; at < png.length;) {
    const length = view.getUint32(at)
    const type = String.fromCharCode(...png.subarray(at + 4, at + 8))
    const data = png.subarray(at + 8, at + 8 + length)
    if (type === 'IDAT') parts.push(data)
    if (type === 'PLTE') palette = data
    at += 12 + length
  }
  const [width, height] = [view.getUint32(16), view.getUint32(20)]
  const [depth, color, interlaced] = [png[24]!, png[25]!, png[28]]
  const channels = channelsOf[color]
  if (depth > 8 || interlaced !== 0 || !channels) {
    const format = `${depth} bits, color type ${color}, interlace ${interlaced}`
    throw new Error(`unsupported PNG format: ${format}`)
  }
  const filtered = await pipe(parts, new DecompressionStream('deflate'))
  const bits = channels * depth
  const rows = unfilter(filtered, Math.ceil((width * bits) / 8), height, Math.ceil(bits / 8))
  const pixels = depth === 8 ? rows : unpack(rows, width, height, depth, color === 0)
  const rgba = new Uint8Array(width * height * 4)
  for (let from = 0, to = 0; to < rgba.length; from += channels, to += 4) {
    const isGray = color === 0 || color === 4
    const source = color === 3 ? palette : pixels
    const base = color === 3 ? pixels[from]! * 3 : from
    rgba[to] = source[base]!
    rgba[to + 1] = source[isGray ? base : base + 1]!
    rgba[to + 2] = source[isGray ? base : base + 2]!
    rgba[to + 3] = 255
  }
  return { width, height, rgba }
}

export async function encodePng({ width, height, rgba }: Bitmap): Promise<Uint8Array<ArrayBuffer>> {
  const rows = new Uint8Array((width * 3 + 1) * height)
  for (let y = 0, from = 0, to = 0; y < height; y++) {
    // Filter byte of the row: none.
    to++
    for (let x = 0; x < width; x++, from += 4) {
      rows[to++] = rgba[from]!
      rows[to++] = rgba[from + 1]!
      rows[to++] = rgba[from + 2]!
    }
  }
  const header = new Uint8Array(13)
  new DataView(header.buffer).setUint32(0, width)
  new DataView(header.buffer).setUint32(4, height)
  header.set([8, 2], 8)
  const data = await pipe([rows], new CompressionStream('deflate'))
  return concat([
    new Uint8Array(signature),
    chunk('IHDR', header),
    chunk('IDAT', data),
    chunk('IEND', new Uint8Array()),
  ])
}

/** Averages the source pixels of each target pixel, so that thin lines and letters stay visible. */
export function scaleDown(bitmap: Bitmap, width: number, height: number): Bitmap {
  const rgba = new Uint8Array(width * height * 4)
  const source = bitmap.rgba
  for (let y = 0, to = 0; y < height; y++) {
    const [top, bottom] = span(y, height, bitmap.height)
    for (let x = 0; x < width; x++, to += 4) {
      const [left, right] = span(x, width, bitmap.width)
      let [red, green, blue] = [0, 0, 0]
      for (let row = top; row < bottom; row++) {
        const end = (row * bitmap.width + right) * 4
        for (let at = (row * bitmap.width + left) * 4; at < end; at += 4) {
          red += source[at]!
          green += source[at + 1]!
          blue += source[at + 2]!
        }
      }
      const count = (bottom - top) * (right - left)
      rgba[to] = Math.round(red / count)
      rgba[to + 1] = Math.round(green / count)
      rgba[to + 2] = Math.round(blue / count)
      rgba[to + 3] = 255
    }
  }
  return { width, height, rgba }
}

/** The region between two corners, excluding the second. */
export function crop(
  bitmap: Bitmap,
  from: { readonly x: number; readonly y: number },
  to: { readonly x: number; readonly y: number },
): Bitmap {
  const [width, height] = [to.x - from.x, to.y - from.y]
  const rgba = new Uint8Array(width * height * 4)
  for (let y = 0; y < height; y++) {
    const start = ((from.y + y) * bitmap.width + from.x) * 4
    rgba.set(bitmap.rgba.subarray(start, start + width * 4), y * width * 4)
  }
  return { width, height, rgba }
}

/** The range of source pixels that a target pixel covers. */
function span(index: number, length: number, whole: number): [number, number] {
  return [Math.floor((index * whole) / length), Math.ceil(((index + 1) * whole) / length)]
}

/** Unpacks samples of less than 8 bits to bytes. Gray is scaled to 0-255; palette indices are not. */
function unpack(
  rows: Uint8Array,
  width: number,
  height: number,
  depth: number,
  isGray: boolean,
): Uint8Array {
  const out = new Uint8Array(width * height)
  const stride = Math.ceil((width * depth) / 8)
  const maxSample = 2 ** depth - 1
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const bit = x * depth
      const sample = (rows[y * stride + (bit >> 3)]! >> (8 - depth - (bit & 7))) & maxSample
      out[y * width + x] = isGray ? (sample * 255) / maxSample : sample
    }
  }
  return out
}

/** Reverses the filter of each row. */
function unfilter(rows: Uint8Array, stride: number, height: number, step: number): Uint8Array {
  const out = new Uint8Array(stride * height)
  for (let y = 0; y < height; y++) {
    const filter = rows[y * (stride + 1)]
    for (let x = 0; x < stride; x++) {
      const at = y * stride + x
      const left = x >= step ? out[at - step]! : 0
      const above = y > 0 ? out[at - stride]! : 0
      const corner = x >= step && y > 0 ? out[at - stride - step]! : 0
      const predicted =
        filter === 1
          ? left
          : filter === 2
            ? above
            : filter === 3
              ? (left + above) >> 1
              : filter === 4
                ? paeth(left, above, corner)
                : 0
      out[at] = rows[y * (stride + 1) + 1 + x]! + predicted
    }
  }
  return out
}

function paeth(left: number, above: number, corner: number): number {
  const estimate = left + above - corner
  const [a, b, c] = [left, above, corner].map((value) => Math.abs(estimate - value)) as [
    number,
    number,
    number,
  ]
  return a <= b && a <= c ? left : b <= c ? above : corner
}

function chunk(type: string, data: Uint8Array): Uint8Array {
  const body = concat([Uint8Array.from(type, (letter) => letter.charCodeAt(0)), data])
  const framed = new Uint8Array(body.length + 8)
  const view = new DataView(framed.buffer)
  view.setUint32(0, data.length)
  framed.set(body, 4)
  view.setUint32(body.length + 4, crc32(body))
  return framed
}

const crcTable = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1
  return value
})

function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff
  for (const byte of bytes) crc = crcTable[(crc ^ byte) & 255]! ^ (crc >>> 8)
  return (crc ^ 0xffffffff) >>> 0
}

async function pipe(
  parts: readonly Uint8Array[],
  through: DecompressionStream | CompressionStream,
): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([concat(parts)]).stream().pipeThrough(through)
  return new Uint8Array(await new Response(stream).arrayBuffer())
}

function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let offset = 0
  for (const part of parts) {
    whole.set(part, offset)
    offset += part.length
  }
  return whole
}
