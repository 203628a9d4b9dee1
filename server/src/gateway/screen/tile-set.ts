import { TileError, type Geometry, type Tile } from '../rfb/tile.ts'

/** A place on the screen, by its left top corner: what is newest there replaces what was. */
export type TileKey = number

/** Of an 8K screen in tiles of 256x128 there are a thousand. */
const mostTiles = 4096
/** A body of Tight is hardly longer than its pixels. */
const bytesPerPixel = 4
const bytesPerTile = 1024

/**
 * The newest tile of each place of a screen. The agent is not believed: what is kept is bounded by the
 * size of the screen, since tiles lie within it and do not overlap.
 */
export class TileSet {
  readonly geometry: Geometry
  readonly #tiles = new Map<TileKey, Tile>()
  #area = 0

  constructor({ width, height }: Geometry) {
    this.geometry = { width, height }
  }

  /** Every part of the screen is there. */
  get isWhole(): boolean {
    return this.#area === this.geometry.width * this.geometry.height
  }

  keys(): IterableIterator<TileKey> {
    return this.#tiles.keys()
  }

  get(key: TileKey): Tile | undefined {
    return this.#tiles.get(key)
  }

  /** Its key if the place looks otherwise now. Throws TileError. */
  put(tile: Tile): TileKey | undefined {
    const { x, y, width, height, body } = tile
    const key = y * 0x1_00_00 + x
    const before = this.#tiles.get(key)
    if (isEqual(before, tile)) return undefined
    const area = this.#area + width * height - (before ? before.width * before.height : 0)
    const isWithin = x + width <= this.geometry.width && y + height <= this.geometry.height
    if (!isWithin) throw new TileError('a tile beyond the screen')
    if (area > this.geometry.width * this.geometry.height) throw new TileError('tiles that overlap')
    if (body.length > bytesPerTile + bytesPerPixel * width * height) {
      throw new TileError(`${body.length} bytes for a tile of ${width}x${height}`)
    }
    // A copy: what came shares its memory with all that came together.
    this.#tiles.set(key, { x, y, width, height, body: Buffer.from(body) })
    if (this.#tiles.size > mostTiles) throw new TileError('too many tiles')
    this.#area = area
    return key
  }
}

export function isEqual(a: Tile | undefined, b: Tile | undefined): boolean {
  if (!a || !b) return false
  return a.width === b.width && a.height === b.height && a.body.equals(b.body)
}
