export type Geometry = { readonly width: number; readonly height: number }
export type Rectangle = Geometry & { readonly x: number; readonly y: number }

export function intersects(a: Rectangle, b: Rectangle): boolean {
  const isBeside = a.x + a.width <= b.x || b.x + b.width <= a.x
  const isAbove = a.y + a.height <= b.y || b.y + b.height <= a.y
  return !isBeside && !isAbove
}

/**
 * A rectangle of the screen, and its pixels as a body of Tight that needs no earlier one. The same
 * object goes to all viewers, so that it is decoded at most once.
 */
export type Tile = Rectangle & { readonly body: Buffer }

/** Not a tile: the agent inside a machine can send anything. */
export class TileError extends Error {
  override name = 'TileError'
}

/**
 * A tile from the payload of the agent's screen stream, without a copy. Throws TileError for what
 * would not end where the next thing begins in a viewer's stream. Whether the tile is within the
 * screen is for the caller to see to.
 */
export function readTile(payload: Buffer): Tile {
  if (payload.length <= headerBytes) throw new TileError(`a tile of ${payload.length} bytes`)
  const tile = {
    x: payload.readUInt16BE(0),
    y: payload.readUInt16BE(2),
    width: payload.readUInt16BE(4),
    height: payload.readUInt16BE(6),
    body: payload.subarray(headerBytes),
  }
  const pixels = tile.width * tile.height
  if (pixels === 0 || pixels > mostPixels || tile.width > mostWide) {
    throw new TileError(`a tile of ${tile.width}x${tile.height} pixels`)
  }
  parseBody(tile)
  return tile
}

export function isJpeg(tile: Tile): boolean {
  return tile.body[0] === jpeg
}

const headerBytes = 8
const mostPixels = 1024 * 1024
/** Of Tight, as RFB has it. */
const mostWide = 2048

/** Control bytes of Tight, as the agent makes them: zlib's first stream anew, without or with a filter. */
const copied = 0x01
const filtered = 0x41
const fill = 0x80
const jpeg = 0x90
const paletteFilter = 1
/** Less is not compressed. */
export const leastDeflated = 12
const startOfJpeg = 0xffd8

export type TileBody =
  | { readonly type: 'fill'; readonly colour: Buffer }
  | { readonly type: 'jpeg'; readonly data: Buffer }
  | { readonly type: 'copied'; readonly data: Buffer }
  | { readonly type: 'palette'; readonly colours: Buffer; readonly data: Buffer }

export function parseBody({ body, width, height }: Tile): TileBody {
  switch (body[0]) {
    case fill:
      if (body.length !== 4) throw new TileError(`a fill of ${body.length} bytes`)
      return { type: 'fill', colour: body.subarray(1) }
    case jpeg: {
      const data = takeCounted(body.subarray(1))
      // Whatever else it is must not be guessed at by whoever decodes it.
      if (data.length < 2 || data.readUInt16BE(0) !== startOfJpeg) throw new TileError('not JPEG')
      return { type: 'jpeg', data }
    }
    case copied:
      return { type: 'copied', data: takeData(body.subarray(1), width * height * 3) }
    case filtered: {
      const count = (body[2] ?? 0) + 1
      const end = 3 + count * 3
      if (body[1] !== paletteFilter || count < 2) throw new TileError('a filter that is no palette')
      const data = takeData(body.subarray(end), indexBytes(count, width, height))
      return { type: 'palette', colours: body.subarray(3, end), data }
    }
    default:
      throw new TileError(`a body of kind ${body[0]}`)
  }
}

/** Two colours take a bit a pixel, each row from a byte of its own; more take a byte. */
export function indexBytes(colours: number, width: number, height: number): number {
  return (colours === 2 ? Math.ceil(width / 8) : width) * height
}

function takeData(data: Buffer, bytes: number): Buffer {
  if (bytes >= leastDeflated) return takeCounted(data)
  if (data.length !== bytes) throw new TileError(`${data.length} bytes of pixels`)
  return data
}

/** What follows its length: seven bits a byte, the lowest first, at most three bytes. */
function takeCounted(data: Buffer): Buffer {
  let [length, at] = [0, 0]
  for (let shift = 0; ; shift += 7) {
    const byte = data[at++] ?? 0
    length |= (shift === 14 ? byte : byte & 0x7f) << shift
    if (shift === 14 || byte < 0x80) break
  }
  if (data.length !== at + length) {
    throw new TileError(`${data.length - at} bytes where ${length} were told`)
  }
  return data.subarray(at)
}
