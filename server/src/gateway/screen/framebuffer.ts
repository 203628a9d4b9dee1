import { TileError, type Geometry, type Tile } from '../rfb/tile.ts'
import {
  isEqual,
  maxScreenBytes,
  maxTiles,
  requireBody,
  TileSet,
  type TileKey,
} from './tile-set.ts'

/** The largest size that a display can be given (contract, ResizeBody) is 8K. */
const [maxSide, maxPixels] = [16_384, 7680 * 4320]

/** The effect of a frame on the shown screen. */
export type FramebufferChange = {
  /** The first complete screen of a stream or of a new size. */
  readonly isFresh: boolean
  /** The size changed, so all earlier content is gone. */
  readonly isResized: boolean
  readonly tiles: readonly TileKey[]
}

/**
 * The screen as the agent last showed it. Tiles take effect together at the end of their frame; after
 * a geometry, nothing takes effect until the whole screen has arrived. Throws TileError on invalid
 * input.
 */
export class Framebuffer {
  #shown: TileSet | null = null
  /** Set from a geometry until its screen is complete. */
  #pending: TileSet | null = null
  #frame: Tile[] = []
  #frameArea = 0
  #frameBytes = 0

  /** Null before the first complete screen. */
  get geometry(): Geometry | null {
    return this.#shown && this.#shown.geometry
  }

  keys(): Iterable<TileKey> {
    return this.#shown?.keys() ?? []
  }

  get(key: TileKey): Tile | undefined {
    return this.#shown?.get(key)
  }

  setGeometry(geometry: Geometry): void {
    const { width, height } = geometry
    const isTooLarge = Math.max(width, height) > maxSide || width * height > maxPixels
    if (Math.min(width, height) < 1 || isTooLarge) {
      throw new TileError(`a screen of ${width}x${height}`)
    }
    this.#pending = new TileSet(geometry)
    this.#clearFrame()
  }

  addTile(tile: Tile): void {
    const { width, height } = this.#target.geometry
    requireBody(tile)
    // Copied, because the body shares memory with everything that arrived together with it.
    this.#frame.push({ ...tile, body: Buffer.from(tile.body) })
    this.#frameArea += tile.width * tile.height
    // A frame contains each tile at most once.
    this.#frameBytes += tile.body.length
    const isTooLong = this.#frame.length > maxTiles || this.#frameBytes > maxScreenBytes
    if (isTooLong || this.#frameArea > width * height) {
      throw new TileError('a frame larger than the screen')
    }
  }

  endFrame(): FramebufferChange {
    const target = this.#pending ?? this.#shown
    // A frame before any geometry has no tiles, perhaps a cursor.
    if (!target) return { isFresh: false, isResized: false, tiles: [] }
    const tiles = this.#frame.flatMap((tile) => target.put(tile) ?? [])
    this.#clearFrame()
    if (target === this.#shown) return { isFresh: false, isResized: false, tiles }
    if (!target.isComplete) return { isFresh: false, isResized: false, tiles: [] }
    return this.#show(target)
  }

  /** Forgets the screen: there is none until a stream has shown one. */
  clear(): void {
    this.#shown = null
    this.discardPending()
  }

  /** Drops what an ended stream left incomplete. */
  discardPending(): void {
    this.#pending = null
    this.#clearFrame()
  }

  #show(next: TileSet): FramebufferChange {
    const before = this.#shown
    this.#shown = next
    this.#pending = null
    const { width, height } = next.geometry
    const isResized = before?.geometry.width !== width || before.geometry.height !== height
    // After a reconnect most tiles are unchanged; send only those that differ.
    const tiles = [...next.keys()].filter((key) => !isEqual(before?.get(key), next.get(key)))
    return { isFresh: true, isResized, tiles: isResized ? [...next.keys()] : tiles }
  }

  get #target(): TileSet {
    const target = this.#pending ?? this.#shown
    if (target) return target
    throw new TileError('a tile before any geometry')
  }

  #clearFrame(): void {
    this.#frame = []
    this.#frameArea = 0
    this.#frameBytes = 0
  }
}
