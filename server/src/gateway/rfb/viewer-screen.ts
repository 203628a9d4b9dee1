import { readAbilities, type Abilities } from './encodings.ts'
import { RfbError } from './error.ts'
import { hasTightPixels, naturalFormat, pixelPacker, type PixelFormat } from './pixel-format.ts'
import {
  cursorRectangle,
  rawRectangle,
  rectangleHeadBytes,
  sendUpdate,
  sizeRectangle,
  tightRectangle,
  wishRectangle,
  type SizeStatus,
  type Cursor,
} from './rectangles.ts'
import { decodeTile } from './tile-pixels.ts'
import { isJpeg, type Geometry, type Tile } from './tile.ts'

/** What one viewer is shown: how it wants pixels, and what of geometry and cursor it was told. */
export class ViewerScreen {
  readonly #send: (bytes: Buffer) => void
  geometry: Geometry
  #toldGeometry: Geometry
  #cursor: Cursor | undefined
  #toldCursor: Cursor | undefined
  #can: Abilities = readAbilities([])
  #format: PixelFormat = naturalFormat
  #pack = pixelPacker(naturalFormat)

  constructor(send: (bytes: Buffer) => void, geometry: Geometry) {
    this.#send = send
    this.geometry = geometry
    this.#toldGeometry = geometry
  }

  setFormat(format: PixelFormat): void {
    this.#format = format
    this.#pack = pixelPacker(format)
  }

  setAbilities(can: Abilities): void {
    if (can.cursor !== this.#can.cursor) this.#toldCursor = undefined
    this.#can = can
  }

  setCursor(cursor: Cursor): void {
    if (isPicture(cursor)) this.#cursor = cursor
  }

  get hasNews(): boolean {
    return this.#hasNewGeometry || this.#hasNewCursor
  }

  sizeOf(tile: Tile): number {
    const { width, height, body } = tile
    const pixelBytes = this.#format.bitsPerPixel / 8
    return rectangleHeadBytes + (this.#takes(tile) ? body.length : width * height * pixelBytes)
  }

  /** The newest, which the viewer knows from now on. */
  tellGeometry(): Geometry {
    return (this.#toldGeometry = this.geometry)
  }

  /** In an update of its own: with a size there may be no pixels. */
  sendGeometry(): void {
    const { resize } = this.#can
    if (!resize) throw new RfbError('the screen has a new size, which this viewer cannot take')
    sendUpdate([sizeRectangle(resize, this.tellGeometry())], this.#send)
  }

  /** How the viewer's wish for a size went. The geometry in it tells the viewer nothing. */
  answerWish(status: SizeStatus): void {
    sendUpdate([wishRectangle(this.#toldGeometry, status)], this.#send)
  }

  /**
   * At once if the viewer takes all tiles as they are. False when there is nothing to be sent, since
   * the tiles are of a geometry that has come and gone. See RfbViewer.
   */
  async show(tiles: readonly Tile[]): Promise<boolean> {
    const { geometry } = this
    const pixels = new Map<Tile, Buffer>()
    // The viewer may change its mind about the format while tiles are decoded.
    for (;;) {
      const encoded = tiles.filter((tile) => !this.#takes(tile) && !pixels.has(tile))
      if (encoded.length === 0) break
      const decoded = await Promise.all(encoded.map(decodeTile))
      for (const [index, tile] of encoded.entries()) pixels.set(tile, decoded[index]!)
    }
    const { hasNews } = this
    if (this.#hasNewGeometry) this.sendGeometry()
    const rectangles = this.#hasNewCursor ? [this.#tellCursor()] : []
    for (const tile of geometry === this.geometry ? tiles : []) {
      if (this.#takes(tile)) rectangles.push(tightRectangle(tile))
      else rectangles.push(rawRectangle(tile, this.#pack(pixels.get(tile)!, 3)))
    }
    if (rectangles.length > 0) sendUpdate(rectangles, this.#send)
    return hasNews || rectangles.length > 0
  }

  #tellCursor(): Buffer[] {
    this.#toldCursor = this.#cursor
    return cursorRectangle(this.#can.cursor!, this.#cursor!, this.#pack)
  }

  get #hasNewGeometry(): boolean {
    const told = this.#toldGeometry
    return told.width !== this.geometry.width || told.height !== this.geometry.height
  }

  get #hasNewCursor(): boolean {
    return this.#can.cursor !== undefined && this.#cursor !== this.#toldCursor
  }

  #takes(tile: Tile): boolean {
    return this.#can.tight && hasTightPixels(this.#format) && (this.#can.jpeg || !isJpeg(tile))
  }
}

function isPicture({ x, y, width, height, pixels }: Cursor): boolean {
  const isPlace = (value: number) => value >= 0 && value <= mostCursorSide
  const bytes = Buffer.from(pixels, 'base64').length
  return [x, y, width, height].every(isPlace) && bytes === width * height * 4
}

const mostCursorSide = 1024
