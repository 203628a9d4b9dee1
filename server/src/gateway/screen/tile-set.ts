import { TileError, type Geometry, type Tile } from '../rfb/tile.ts'

/** The top left corner of a tile. A new tile replaces the one with the same key. */
export type TileKey = number

/** An 8K screen has about a thousand tiles of 256x128. */
export const maxTiles = 4096
/** The bodies of a screen together. Noise on an 8K screen is twice that as pixels, but is sent as JPEG. */
export const maxScreenBytes = 64 * 1024 * 1024
/** A Tight body is at most slightly longer than its pixels. */
const bytesPerPixel = 4
const bytesPerTile = 1024

/**
 * The newest tile at each place of a screen. The agent is not trusted: because tiles must lie within
 * the screen and must not overlap, its size bounds what is kept.
 */
export class TileSet {
  readonly geometry: Geometry
  readonly #tiles = new Map<TileKey, Tile>()
  #area = 0
  #bytes = 0

  constructor({ width, height }: Geometry) {
    this.geometry = { width, height }
  }

  get isComplete(): boolean {
    return this.#area === this.geometry.width * this.geometry.height
  }

  keys(): IterableIterator<TileKey> {
    return this.#tiles.keys()
  }

  get(key: TileKey): Tile | undefined {
    return this.#tiles.get(key)
  }

  /** Returns the key if the content changed. Throws TileError. */
  put(tile: Tile): TileKey | undefined {
    const { x, y, width, height, body } = tile
    const key = y * 0x1_00_00 + x
    const before = this.#tiles.get(key)
    if (isEqual(before, tile)) return undefined
    const area = this.#area + width * height - (before ? before.width * before.height : 0)
    const isWithin = x + width <= this.geometry.width && y + height <= this.geometry.height
    if (!isWithin) throw new TileError('a tile outside the screen')
    if (area > this.geometry.width * this.geometry.height) throw new TileError('overlapping tiles')
    this.#bytes += body.length - (before?.body.length ?? 0)
    if (this.#bytes > maxScreenBytes)
      throw new TileError(`a screen of more than ${maxScreenBytes} bytes`)
    this.#tiles.set(key, tile)
    if (this.#tiles.size > maxTiles) throw new TileError('too many tiles')
    this.#area = area
    return key
  }
}

export function isEqual(a: Tile | undefined, b: Tile | undefined): boolean {
  if (!a || !b) return false
  return a.width === b.width && a.height === b.height && a.body.equals(b.body)
}

/** Throws TileError unless the body may be as long as it is. */
export function requireBody({ width, height, body }: Tile): void {
  if (body.length <= bytesPerTile + bytesPerPixel * width * height) return
  throw new TileError(`${body.length} bytes for a tile of ${width}x${height}`)
}
