import {
  paletteIndexBytes,
  readCompactLength,
  readTileHeader,
  tightControl,
  tightMaxWidth,
  tightMinDeflatedBytes,
  tightPaletteFilter,
  tileHeaderBytes,
} from '@computer/contract'

export type Geometry = { readonly width: number; readonly height: number }
export type Rectangle = Geometry & { readonly x: number; readonly y: number }

export function intersects(a: Rectangle, b: Rectangle): boolean {
  const isBeside = a.x + a.width <= b.x || b.x + b.width <= a.x
  const isAbove = a.y + a.height <= b.y || b.y + b.height <= a.y
  return !isBeside && !isAbove
}

/**
 * A rectangle of the screen with its pixels as a self-contained Tight body. All clients share the
 * object, so it is decoded at most once.
 */
export type Tile = Rectangle & { readonly body: Buffer }

/** The agent sent an invalid tile. It runs inside the machine, so it is not trusted. */
export class TileError extends Error {
  override name = 'TileError'
}

/**
 * Reads a tile from the agent's screen stream without copying it. Throws TileError if its body would
 * not end exactly where a client expects the next rectangle. The caller checks that the tile lies
 * within the screen.
 */
export function readTile(payload: Buffer): Tile {
  if (payload.length <= tileHeaderBytes) throw new TileError(`a tile of ${payload.length} bytes`)
  const tile = { ...readTileHeader(payload), body: payload.subarray(tileHeaderBytes) }
  const pixels = tile.width * tile.height
  if (pixels === 0 || pixels > maxPixels || tile.width > tightMaxWidth) {
    throw new TileError(`a tile of ${tile.width}x${tile.height} pixels`)
  }
  parseBody(tile)
  return tile
}

export function isJpeg(tile: Tile): boolean {
  return tile.body[0] === tightControl.jpeg
}

const maxPixels = 1024 * 1024
const startOfJpeg = 0xffd8

type TileBody =
  | { readonly type: 'fill'; readonly colour: Buffer }
  | { readonly type: 'jpeg'; readonly data: Buffer }
  | { readonly type: 'copy'; readonly data: Buffer }
  | { readonly type: 'palette'; readonly colours: Buffer; readonly data: Buffer }

export function parseBody({ body, width, height }: Tile): TileBody {
  switch (body[0]) {
    case tightControl.fill:
      if (body.length !== 4) throw new TileError(`a fill of ${body.length} bytes`)
      return { type: 'fill', colour: body.subarray(1) }
    case tightControl.jpeg: {
      const data = takeCounted(body.subarray(1))
      // Decoders must not guess at other image formats.
      if (data.length < 2 || data.readUInt16BE(0) !== startOfJpeg) throw new TileError('not a JPEG')
      return { type: 'jpeg', data }
    }
    case tightControl.copy:
      return { type: 'copy', data: takeData(body.subarray(1), width * height * 3) }
    case tightControl.filter: {
      const count = (body[2] ?? 0) + 1
      const end = 3 + count * 3
      if (body[1] !== tightPaletteFilter || count < 2) throw new TileError('not a palette filter')
      const data = takeData(body.subarray(end), paletteIndexBytes(count, width, height))
      return { type: 'palette', colours: body.subarray(3, end), data }
    }
    default:
      throw new TileError(`a body with control byte ${body[0]}`)
  }
}

function takeData(data: Buffer, bytes: number): Buffer {
  if (bytes >= tightMinDeflatedBytes) return takeCounted(data)
  if (data.length !== bytes)
    throw new TileError(`${data.length} bytes of pixels instead of ${bytes}`)
  return data
}

/** The data after its compact length, which must cover all of it. */
function takeCounted(data: Buffer): Buffer {
  const { length, bytes } = readCompactLength(data)
  if (data.length !== bytes + length) {
    throw new TileError(`${data.length - bytes} bytes of data instead of ${length}`)
  }
  return data.subarray(bytes)
}
