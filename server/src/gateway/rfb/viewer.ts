import { ResizeBody } from '@computer/contract'
import type { GuestInputEvent } from '@computer/contract/guest-streams'
import { ByteQueue } from './byte-queue.ts'
import { takeMessage, type ClientMessage } from './client-messages.ts'
import { ViewerClipboard } from './clipboard.ts'
import { readAbilities } from './encodings.ts'
import { desktopMessage, Handshake } from './handshake.ts'
import { sizeStatus, type Cursor, type SizeStatus } from './rectangles.ts'
import type { Geometry, Rectangle, Tile } from './tile.ts'
import { ViewerScreen } from './viewer-screen.ts'

export type { Cursor } from './rectangles.ts'

export type RfbEvents = {
  /**
   * The viewer did something, in the order it did it: whether it may is for the listener to say.
   * True if it was passed on. One that asked for another size is told so; and the new size once
   * `setGeometry` says it.
   */
  readonly input: (event: GuestInputEvent) => boolean
  /** It has nothing of this area: every tile that touches it is to be sent anew. */
  readonly refresh: (area: Rectangle) => void
  /** `wantsUpdate` has become true, or more is wanted. */
  readonly wanted: () => void
}

export type RfbOptions = {
  /** The desktop's name, for the title of the viewer's window. */
  readonly name: string
  readonly geometry: Geometry
  readonly send: (bytes: Buffer) => void
  readonly on: RfbEvents
}

/**
 * One viewer's conversation in RFB 3.8: bytes in, bytes out. It sends nothing that was not asked for,
 * but for copied text. What a viewer has not got yet is for the caller to remember as a set of tiles,
 * and here as the newest geometry and cursor, so that nothing piles up.
 */
export class RfbViewer {
  readonly #name: string
  readonly #send: (bytes: Buffer) => void
  readonly #on: RfbEvents
  readonly #queue = new ByteQueue()
  readonly #handshake: Handshake
  readonly #clipboard: ViewerClipboard
  readonly #screen: ViewerScreen
  #can = readAbilities([])
  #isReady = false
  #isSending = false
  /** What was asked for and not answered yet. */
  #wanted: Rectangle | undefined

  /** Says the protocol's version. */
  constructor({ name, geometry, send, on }: RfbOptions) {
    this.#name = name
    this.#send = send
    this.#on = on
    this.#screen = new ViewerScreen(send, geometry)
    this.#clipboard = new ViewerClipboard(send, (text) => on.input({ type: 'clipboard', text }))
    this.#handshake = new Handshake(send)
  }

  /** Any cut of the byte stream. Throws RfbError, after which it is of no more use. */
  receive(bytes: Buffer): void {
    this.#queue.push(bytes)
    if (!this.#isReady && !this.#finishHandshake()) return
    for (;;) {
      const message = takeMessage(this.#queue, this.#can)
      if (!message) return
      this.#take(message)
    }
  }

  /** The handshake is done: the viewer knows the geometry, and may be sent copied text. */
  get isReady(): boolean {
    return this.#isReady
  }

  /** An update was asked for and none is on its way. */
  get wantsUpdate(): boolean {
    return this.#wanted !== undefined && !this.#isSending
  }

  /** There is a geometry or a cursor to be told: worth an update that has no tiles. */
  get hasNews(): boolean {
    return this.#isReady && this.#screen.hasNews
  }

  /** The update that was asked for may show some of this area. */
  wants({ x, y, width, height }: Rectangle): boolean {
    const wanted = this.#wanted
    if (!wanted) return false
    const isBeside = x + width <= wanted.x || wanted.x + wanted.width <= x
    const isAbove = y + height <= wanted.y || wanted.y + wanted.height <= y
    return !isBeside && !isAbove
  }

  /** How many bytes the tile takes for this viewer, whose encoding may not be the tile's own. */
  sizeOf(tile: Tile): number {
    return this.#screen.sizeOf(tile)
  }

  /** Told with the next update. The viewer has none of its tiles then. */
  setGeometry(geometry: Geometry): void {
    this.#screen.geometry = geometry
  }

  /** Told with the next update. What is no picture is left out: the machine can send anything. */
  setCursor(cursor: Cursor): void {
    this.#screen.setCursor(cursor)
  }

  /**
   * Answers what was asked for, with what is new of geometry and cursor; without any of these and
   * without tiles it does nothing. Call it only while `wantsUpdate`. If the viewer takes tiles as they
   * are, it is sent when this returns. Of tiles that have to be decoded first, those of a geometry
   * that is not the newest any more are left out. Rejects with RfbError if the viewer cannot follow
   * a new geometry, with TileError if a tile cannot be decoded.
   */
  async sendUpdate(tiles: readonly Tile[]): Promise<void> {
    if (!this.wantsUpdate) throw new Error('no update is wanted')
    if (tiles.length === 0 && !this.hasNews) return
    const asked = this.#wanted!
    this.#wanted = undefined
    this.#isSending = true
    try {
      if (!(await this.#screen.show(tiles))) this.#addWanted(asked)
    } finally {
      this.#isSending = false
    }
    if (this.#wanted) this.#on.wanted()
  }

  /** Offered, and given to a viewer that asks for it; to one that cannot ask, given. */
  sendCopiedText(text: string): void {
    if (this.#isReady) this.#clipboard.offer(text)
  }

  #finishHandshake(): boolean {
    this.#isReady = this.#handshake.advance(this.#queue)
    if (this.#isReady) this.#send(desktopMessage(this.#name, this.#screen.tellGeometry()))
    return this.#isReady
  }

  #take(message: ClientMessage): void {
    switch (message.type) {
      case 'pixel_format':
        return this.#screen.setFormat(message.format)
      case 'encodings':
        this.#can = readAbilities(message.encodings)
        this.#screen.setAbilities(this.#can)
        return this.#clipboard.setForm(this.#can.extendedClipboard)
      case 'update_request':
        return this.#want(message.area, message.isIncremental)
      case 'key':
      case 'pointer':
        this.#on.input(message)
        return
      case 'latin1_text':
        return this.#clipboard.receivePlain(message.text)
      case 'clipboard':
        return this.#clipboard.receiveExtended(message.bytes)
      case 'desktop_size':
        return this.#screen.answerWish(this.#wishFor(message.size, message.screens))
    }
  }

  #want(area: Rectangle, isIncremental: boolean): void {
    this.#addWanted(area)
    if (!isIncremental) {
      // How a viewer learns that it may ask for another size. What it asked for is still to come.
      if (this.#can.resize === 'extended') this.#screen.sendGeometry()
      this.#on.refresh(area)
    }
    if (this.wantsUpdate) this.#on.wanted()
  }

  #addWanted(area: Rectangle): void {
    this.#wanted = this.#wanted ? joined(this.#wanted, area) : area
  }

  /** Only the machine can tell whether it takes the size: then that is told as any new one is. */
  #wishFor(size: Geometry, screens: number): SizeStatus {
    if (screens !== 1 || !ResizeBody.safeParse(size).success) return sizeStatus.invalid
    const isPassedOn = this.#on.input({ type: 'resize', ...size })
    return isPassedOn ? sizeStatus.forwarded : sizeStatus.prohibited
  }
}

function joined(a: Rectangle, b: Rectangle): Rectangle {
  const [x, y] = [Math.min(a.x, b.x), Math.min(a.y, b.y)]
  const right = Math.max(a.x + a.width, b.x + b.width)
  const bottom = Math.max(a.y + a.height, b.y + b.height)
  return { x, y, width: right - x, height: bottom - y }
}
