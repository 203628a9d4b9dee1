import { ResizeBody } from '@computer/contract'
import type { GuestInputEvent } from '@computer/contract/guest-streams'
import { ByteQueue } from './byte-queue.ts'
import { takeMessage, type ClientMessage } from './client-messages.ts'
import { RfbClipboard } from './clipboard.ts'
import type { Cursor } from './cursor.ts'
import { RfbEncoder } from './encoder.ts'
import { readAbilities } from './encodings.ts'
import { desktopMessage, Handshake } from './handshake.ts'
import { sizeStatus, type SizeStatus } from './rectangles.ts'
import { intersects, type Geometry, type Rectangle, type Tile } from './tile.ts'

export type RfbEvents = {
  /**
   * Input events in order. The listener decides whether the client may send them and returns true if
   * it accepted the event. A resize is then reported as forwarded; its result comes by `setGeometry`.
   */
  readonly input: (event: GuestInputEvent) => boolean
  /** The client lost this area: every tile that intersects it must be sent again. */
  readonly refresh: (area: Rectangle) => void
  /** `wantsUpdate` became true, or the wanted area grew. */
  readonly wanted: () => void
}

export type RfbSessionOptions = {
  /** The desktop name, which clients show as the window title. */
  readonly name: string
  readonly geometry: Geometry
  readonly send: (bytes: Buffer) => void
  readonly on: RfbEvents
}

/**
 * The server side of RFB 3.8 with one client: bytes in, bytes out. Apart from copied text it sends
 * updates only on request. The caller tracks the tiles that the client lacks, the session tracks the
 * newest geometry and cursor, so nothing is queued.
 */
export class RfbSession {
  readonly #name: string
  readonly #send: (bytes: Buffer) => void
  readonly #on: RfbEvents
  readonly #queue = new ByteQueue()
  readonly #handshake: Handshake
  readonly #clipboard: RfbClipboard
  readonly #encoder: RfbEncoder
  #can = readAbilities([])
  #isReady = false
  #isSending = false
  /** The area of the update request that is not answered yet. */
  #wanted: Rectangle | undefined

  /** Sends the protocol version. */
  constructor({ name, geometry, send, on }: RfbSessionOptions) {
    this.#name = name
    this.#send = send
    this.#on = on
    this.#encoder = new RfbEncoder(send, geometry)
    this.#clipboard = new RfbClipboard(send, (text) => on.input({ type: 'clipboard', text }))
    this.#handshake = new Handshake(send)
  }

  /** Takes any chunk of the byte stream. After an RfbError the session must not be used again. */
  receive(bytes: Buffer): void {
    this.#queue.push(bytes)
    if (!this.#isReady && !this.#finishHandshake()) return
    for (;;) {
      const message = takeMessage(this.#queue, this.#can)
      if (!message) return
      this.#take(message)
    }
  }

  /** The handshake is complete: the client knows the geometry and may receive copied text. */
  get isReady(): boolean {
    return this.#isReady
  }

  /** An update was requested and none is being sent. */
  get wantsUpdate(): boolean {
    return this.#wanted !== undefined && !this.#isSending
  }

  /** A new geometry or cursor is worth an update without tiles. */
  get hasPendingState(): boolean {
    return this.#isReady && this.#encoder.hasPendingState
  }

  /** The requested update covers some of this area. */
  wants(area: Rectangle): boolean {
    return this.#wanted !== undefined && intersects(this.#wanted, area)
  }

  /** The size of the tile in the encoding of this client. */
  sizeOf(tile: Tile): number {
    return this.#encoder.sizeOf(tile)
  }

  /** Sent with the next update. The client has none of its tiles then. */
  setGeometry(geometry: Geometry): void {
    this.#encoder.geometry = geometry
  }

  /** Sent with the next update. */
  setCursor(cursor: Cursor): void {
    this.#encoder.setCursor(cursor)
  }

  /**
   * Answers the update request with the tiles and any new geometry and cursor; does nothing if there
   * are none of these. Call it only while `wantsUpdate`. If the client takes the tiles as they are, they
   * are sent before this returns. Otherwise they are decoded first, and dropped if the geometry changes
   * meanwhile. Rejects with RfbError if the client does not support a new geometry, with TileError if
   * a tile cannot be decoded.
   */
  async sendUpdate(tiles: readonly Tile[]): Promise<void> {
    if (!this.wantsUpdate) throw new Error('no update was requested')
    if (tiles.length === 0 && !this.hasPendingState) return
    const requested = this.#wanted!
    this.#wanted = undefined
    this.#isSending = true
    try {
      if (!(await this.#encoder.sendUpdate(tiles))) this.#addWanted(requested)
    } finally {
      this.#isSending = false
    }
    if (this.#wanted) this.#on.wanted()
  }

  /** Offered, so that the client can request it; sent right away to clients that cannot. */
  sendCopiedText(text: string): void {
    if (this.#isReady) this.#clipboard.offer(text)
  }

  #finishHandshake(): boolean {
    this.#isReady = this.#handshake.advance(this.#queue)
    if (this.#isReady) this.#send(desktopMessage(this.#name, this.#encoder.takeGeometry()))
    return this.#isReady
  }

  #take(message: ClientMessage): void {
    switch (message.type) {
      case 'pixel_format':
        return this.#encoder.setFormat(message.format)
      case 'encodings':
        this.#can = readAbilities(message.encodings)
        this.#encoder.setAbilities(this.#can)
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
        return this.#encoder.sendResizeReply(this.#requestResize(message.size, message.screens))
    }
  }

  #want(area: Rectangle, isIncremental: boolean): void {
    this.#addWanted(area)
    if (!isIncremental) {
      // Tells the client that it may request a size. The requested update is still to come.
      if (this.#can.resize === 'extended') this.#encoder.sendGeometry()
      this.#on.refresh(area)
    }
    if (this.wantsUpdate) this.#on.wanted()
  }

  #addWanted(area: Rectangle): void {
    this.#wanted = this.#wanted ? union(this.#wanted, area) : area
  }

  /** Only the machine knows whether it accepts the size; if so, it arrives like any other resize. */
  #requestResize(size: Geometry, screens: number): SizeStatus {
    if (screens !== 1 || !ResizeBody.safeParse(size).success) return sizeStatus.invalid
    const isForwarded = this.#on.input({ type: 'resize', ...size })
    return isForwarded ? sizeStatus.forwarded : sizeStatus.prohibited
  }
}

function union(a: Rectangle, b: Rectangle): Rectangle {
  const [x, y] = [Math.min(a.x, b.x), Math.min(a.y, b.y)]
  const right = Math.max(a.x + a.width, b.x + b.width)
  const bottom = Math.max(a.y + a.height, b.y + b.height)
  return { x, y, width: right - x, height: bottom - y }
}
