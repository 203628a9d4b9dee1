import { cursorRectangle, isValidCursor, type Cursor } from './cursor.ts'
import { readAbilities, type Abilities } from './encodings.ts'
import { RfbError } from './error.ts'
import { hasTightPixels, naturalFormat, pixelPacker, type PixelFormat } from './pixel-format.ts'
import {
  rawRectangle,
  rectangleHeadBytes,
  resizeReplyRectangle,
  sendUpdate,
  sizeRectangle,
  tightRectangle,
  type SizeStatus,
} from './rectangles.ts'
import { decodeTile } from './tile-pixels.ts'
import { isJpeg, type Geometry, type Tile } from './tile.ts'

/** Encodes updates for one client. Tracks its pixel format and which geometry and cursor it has. */
export class RfbEncoder {
  readonly #send: (bytes: Buffer) => void
  geometry: Geometry
  #sentGeometry: Geometry
  #cursor: Cursor | undefined
  #sentCursor: Cursor | undefined
  #can: Abilities = readAbilities([])
  #format: PixelFormat = naturalFormat
  #pack = pixelPacker(naturalFormat)

  constructor(send: (bytes: Buffer) => void, geometry: Geometry) {
    this.#send = send
    this.geometry = geometry
    this.#sentGeometry = geometry
  }

  setFormat(format: PixelFormat): void {
    this.#format = format
    this.#pack = pixelPacker(format)
  }

  setAbilities(can: Abilities): void {
    if (can.cursor !== this.#can.cursor) this.#sentCursor = undefined
    this.#can = can
  }

  /** Ignores invalid cursors. */
  setCursor(cursor: Cursor): void {
    if (isValidCursor(cursor)) this.#cursor = cursor
  }

  /** The client lacks the newest geometry or cursor. */
  get hasPendingState(): boolean {
    return this.#hasNewGeometry || this.#hasNewCursor
  }

  sizeOf(tile: Tile): number {
    const { width, height, body } = tile
    const pixelBytes = this.#format.bitsPerPixel / 8
    return rectangleHeadBytes + (this.#takes(tile) ? body.length : width * height * pixelBytes)
  }

  /** Marks the newest geometry as sent and returns it. */
  takeGeometry(): Geometry {
    return (this.#sentGeometry = this.geometry)
  }

  /** Sent as an update of its own, because a size may not share one with pixels. */
  sendGeometry(): void {
    const { resize } = this.#can
    if (!resize) throw new RfbError('the screen was resized, but the client does not support that')
    sendUpdate([sizeRectangle(resize, this.takeGeometry())], this.#send)
  }

  /** Repeats the geometry that the client has. */
  sendResizeReply(status: SizeStatus): void {
    sendUpdate([resizeReplyRectangle(this.#sentGeometry, status)], this.#send)
  }

  /**
   * Sends before it returns if the client takes all tiles as they are. Resolves to false if there was
   * nothing to send, because the tiles belong to an outdated geometry. See RfbSession.
   */
  async sendUpdate(tiles: readonly Tile[]): Promise<boolean> {
    const { geometry } = this
    const pixels = new Map<Tile, Buffer>()
    // The client may change its format while tiles are being decoded.
    for (;;) {
      const encoded = tiles.filter((tile) => !this.#takes(tile) && !pixels.has(tile))
      if (encoded.length === 0) break
      const decoded = await Promise.all(encoded.map(decodeTile))
      for (const [index, tile] of encoded.entries()) pixels.set(tile, decoded[index]!)
    }
    const { hasPendingState } = this
    if (this.#hasNewGeometry) this.sendGeometry()
    const rectangles = this.#hasNewCursor ? [this.#takeCursor()] : []
    for (const tile of geometry === this.geometry ? tiles : []) {
      if (this.#takes(tile)) rectangles.push(tightRectangle(tile))
      else rectangles.push(rawRectangle(tile, this.#pack(pixels.get(tile)!, 3)))
    }
    if (rectangles.length > 0) sendUpdate(rectangles, this.#send)
    return hasPendingState || rectangles.length > 0
  }

  #takeCursor(): Buffer[] {
    this.#sentCursor = this.#cursor
    return cursorRectangle(this.#can.cursor!, this.#cursor!, this.#pack)
  }

  get #hasNewGeometry(): boolean {
    const sent = this.#sentGeometry
    return sent.width !== this.geometry.width || sent.height !== this.geometry.height
  }

  get #hasNewCursor(): boolean {
    return this.#can.cursor !== undefined && this.#cursor !== this.#sentCursor
  }

  #takes(tile: Tile): boolean {
    return this.#can.tight && hasTightPixels(this.#format) && (this.#can.jpeg || !isJpeg(tile))
  }
}
