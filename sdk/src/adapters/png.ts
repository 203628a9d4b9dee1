/*
 * Makes a PNG smaller, by what every runtime brings along: no decoder is needed for what the server
 * sends, which has at most 8 bits a channel and is not interlaced.
 */

export type Picture = {
  readonly width: number
  readonly height: number
  /** Four bytes a pixel, row by row. */
  readonly rgba: Uint8Array<ArrayBuffer>
}

const signature = [137, 80, 78, 71, 13, 10, 26, 10]
/** Bytes a pixel has, by colour type: grey, RGB, palette, grey with alpha, RGBA. */
const channelsOf: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 }

export async function decodePng(png: Uint8Array): Promise<Picture> {
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
  const [depth, colour, interlaced] = [png[24]!, png[25]!, png[28]]
  const channels = channelsOf[colour]
  if (depth > 8 || interlaced !== 0 || !channels) {
    const kind = `${depth} bits of colour type ${colour}`
    throw new Error(`this PNG has ${kind}, which cannot be made smaller here`)
  }
  const filtered = await transformed(parts, new DecompressionStream('deflate'))
  const bits = channels * depth
  const rows = unfilter(filtered, Math.ceil((width * bits) / 8), height, Math.ceil(bits / 8))
  const pixels = depth === 8 ? rows : unpack(rows, width, height, depth, colour === 0)
  const rgba = new Uint8Array(width * height * 4)
  for (let from = 0, to = 0; to < rgba.length; from += channels, to += 4) {
    const isGrey = colour === 0 || colour === 4
    const source = colour === 3 ? palette : pixels
    const base = colour === 3 ? pixels[from]! * 3 : from
    rgba[to] = source[base]!
    rgba[to + 1] = source[isGrey ? base : base + 1]!
    rgba[to + 2] = source[isGrey ? base : base + 2]!
    rgba[to + 3] = 255
  }
  return { width, height, rgba }
}

export async function encodePng({
  width,
  height,
  rgba,
}: Picture): Promise<Uint8Array<ArrayBuffer>> {
  const rows = new Uint8Array((width * 3 + 1) * height)
  for (let y = 0, from = 0, to = 0; y < height; y++) {
    // The byte that says how a row is filtered: not at all.
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
  const data = await transformed([rows], new CompressionStream('deflate'))
  return concat([
    new Uint8Array(signature),
    chunk('IHDR', header),
    chunk('IDAT', data),
    chunk('IEND', new Uint8Array()),
  ])
}

/** Each pixel is the mean of what it stands for, so that thin lines and letters do not vanish. */
export function scaleDown(picture: Picture, width: number, height: number): Picture {
  const rgba = new Uint8Array(width * height * 4)
  const source = picture.rgba
  for (let y = 0, to = 0; y < height; y++) {
    const [top, bottom] = span(y, height, picture.height)
    for (let x = 0; x < width; x++, to += 4) {
      const [left, right] = span(x, width, picture.width)
      let [red, green, blue] = [0, 0, 0]
      for (let row = top; row < bottom; row++) {
        const end = (row * picture.width + right) * 4
        for (let at = (row * picture.width + left) * 4; at < end; at += 4) {
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

/** The part between two corners; the second is not part of it. */
export function cut(
  picture: Picture,
  from: { readonly x: number; readonly y: number },
  to: { readonly x: number; readonly y: number },
): Picture {
  const [width, height] = [to.x - from.x, to.y - from.y]
  const rgba = new Uint8Array(width * height * 4)
  for (let y = 0; y < height; y++) {
    const start = ((from.y + y) * picture.width + from.x) * 4
    rgba.set(picture.rgba.subarray(start, start + width * 4), y * width * 4)
  }
  return { width, height, rgba }
}

/** The pixels of a longer side that one of a shorter side stands for. */
function span(index: number, length: number, whole: number): [number, number] {
  return [Math.floor((index * whole) / length), Math.ceil(((index + 1) * whole) / length)]
}

/** One byte for each sample of a row that has several in one. Grey goes up to white, indices stay. */
function unpack(
  rows: Uint8Array,
  width: number,
  height: number,
  depth: number,
  isGrey: boolean,
): Uint8Array {
  const out = new Uint8Array(width * height)
  const stride = Math.ceil((width * depth) / 8)
  const most = 2 ** depth - 1
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const bit = x * depth
      const sample = (rows[y * stride + (bit >> 3)]! >> (8 - depth - (bit & 7))) & most
      out[y * width + x] = isGrey ? (sample * 255) / most : sample
    }
  }
  return out
}

/** Takes back what each row's filter did to its bytes. */
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

async function transformed(
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
