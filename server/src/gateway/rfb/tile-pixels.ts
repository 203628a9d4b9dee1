import { paletteIndexBytes, tightMinDeflatedBytes } from '@computer/contract'
import { promisify } from 'node:util'
import { constants, inflate } from 'node:zlib'
import { parseBody, TileError, type Tile } from './tile.ts'

/** Resolves to three bytes per pixel: red, green, blue. Rejects with TileError. */
export function decodeTile(tile: Tile): Promise<Buffer> {
  let pixels = decoded.get(tile)
  if (!pixels) decoded.set(tile, (pixels = decode(tile)))
  return pixels
}

const decoded = new WeakMap<Tile, Promise<Buffer>>()

async function decode(tile: Tile): Promise<Buffer> {
  const body = parseBody(tile)
  const { width, height } = tile
  const bytes = width * height * 3
  switch (body.type) {
    case 'fill':
      return Buffer.alloc(bytes, body.colour)
    case 'jpeg':
      return decodeJpeg(body.data, tile)
    case 'copy':
      return inflateTo(body.data, bytes)
    case 'palette': {
      const { colours, data } = body
      const count = colours.length / 3
      return lookUp(await inflateTo(data, paletteIndexBytes(count, width, height)), colours, tile)
    }
  }
}

function lookUp(indices: Buffer, colours: Buffer, { width, height }: Tile): Buffer {
  const isBits = colours.length === 6
  const rowBytes = isBits ? Math.ceil(width / 8) : width
  const pixels = Buffer.allocUnsafe(width * height * 3)
  for (let y = 0, to = 0; y < height; y++) {
    for (let x = 0; x < width; x++, to += 3) {
      const at = y * rowBytes
      const index = isBits ? (indices[at + (x >> 3)]! >> (7 - (x & 7))) & 1 : indices[at + x]!
      const from = index * 3
      if (from >= colours.length) throw new TileError('a palette index without a colour')
      pixels[to] = colours[from]!
      pixels[to + 1] = colours[from + 1]!
      pixels[to + 2] = colours[from + 2]!
    }
  }
  return pixels
}

async function decodeJpeg(data: Buffer, { width, height }: Tile): Promise<Buffer> {
  const sharp = await loadSharp()
  try {
    const image = sharp(data, { limitInputPixels: width * height, failOn: 'error' })
    const { data: pixels, info } = await image
      .toColourspace('srgb')
      .removeAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true })
    if (info.width === width && info.height === height && info.channels === 3) return pixels
    throw new TileError(`a JPEG of ${info.width}x${info.height} in a tile of ${width}x${height}`)
  } catch (error) {
    if (error instanceof TileError) throw error
    throw new TileError('a JPEG that cannot be decoded', { cause: error })
  }
}

/** Loaded lazily because few clients need it. Its cache is off because tiles cache their pixels. */
function loadSharp(): Promise<typeof import('sharp').default> {
  sharpModule ??= import('sharp').then(({ default: sharp }) => {
    sharp.cache(false)
    sharp.concurrency(1)
    return sharp
  })
  return sharpModule
}

let sharpModule: Promise<typeof import('sharp').default> | undefined

const inflateAll = promisify<Buffer, { finishFlush: number; maxOutputLength: number }, Buffer>(
  inflate,
)

/** The zlib stream is flushed, not ended. */
async function inflateTo(data: Buffer, bytes: number): Promise<Buffer> {
  if (bytes < tightMinDeflatedBytes) return data
  const options = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: bytes }
  try {
    const inflated = await inflateAll(data, options)
    if (inflated.length === bytes) return inflated
    throw new TileError(`${inflated.length} bytes of pixels instead of ${bytes}`)
  } catch (error) {
    if (error instanceof TileError) throw error
    throw new TileError('pixels that cannot be inflated', { cause: error })
  }
}
