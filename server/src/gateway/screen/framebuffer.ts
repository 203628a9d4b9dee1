import { TileError, type Geometry, type Tile } from '../rfb/tile.ts'
import { isEqual, TileSet, type TileKey } from './tile-set.ts'

/** More pixels no screen has. */
const mostWide = 16_384

/** What a frame changed of what is shown. */
export type Change = {
  /** The first whole screen after a geometry: of a stream that began, or of another size. */
  readonly isFresh: boolean
  /** It has another size: nothing of before is left. */
  readonly isResized: boolean
  readonly tiles: readonly TileKey[]
}

/**
 * The screen as the agent last showed it. What comes counts from the end of its frame on, all at once;
 * after a geometry nothing counts before every part of the screen has come. Throws TileError at what
 * cannot be.
 */
export class Framebuffer {
  #shown: TileSet | null = null
  /** From a geometry until it is whole. */
  #coming: TileSet | null = null
  #frame: Tile[] = []
  #frameArea = 0

  /** Null before the first whole screen. */
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
    if (Math.min(width, height) < 1 || Math.max(width, height) > mostWide) {
      throw new TileError(`a screen of ${width}x${height}`)
    }
    this.#coming = new TileSet(geometry)
    this.#clearFrame()
  }

  addTile(tile: Tile): void {
    const { width, height } = this.#target.geometry
    this.#frame.push(tile)
    this.#frameArea += tile.width * tile.height
    // Each tile comes at most once in a frame.
    if (this.#frameArea > width * height) throw new TileError('a frame of more than the screen')
  }

  /** What viewers have not got of what is shown from now on. */
  endFrame(): Change {
    const target = this.#target
    const tiles = this.#frame.flatMap((tile) => target.put(tile) ?? [])
    this.#clearFrame()
    if (target === this.#shown) return { isFresh: false, isResized: false, tiles }
    if (!target.isWhole) return { isFresh: false, isResized: false, tiles: [] }
    return this.#show(target)
  }

  /** What comes next is of another stream. */
  breakOff(): void {
    this.#coming = null
    this.#clearFrame()
  }

  #show(next: TileSet): Change {
    const before = this.#shown
    this.#shown = next
    this.#coming = null
    const { width, height } = next.geometry
    const isResized = before?.geometry.width !== width || before.geometry.height !== height
    // Of a stream that broke and is there again, most is what it was.
    const tiles = [...next.keys()].filter((key) => !isEqual(before?.get(key), next.get(key)))
    return { isFresh: true, isResized, tiles: isResized ? [...next.keys()] : tiles }
  }

  get #target(): TileSet {
    const target = this.#coming ?? this.#shown
    if (target) return target
    throw new TileError('a tile or a frame before any geometry')
  }

  #clearFrame(): void {
    this.#frame = []
    this.#frameArea = 0
  }
}
