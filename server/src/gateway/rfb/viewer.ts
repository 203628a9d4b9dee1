import type { GuestInputEvent, ScreenFromGuest } from '@computer/contract/guest-streams'
import type { Geometry, Rectangle, Tile } from './tile.ts'

/** The pointer's picture, as the agent tells it. The same object goes to all viewers. */
export type Cursor = Extract<ScreenFromGuest, { type: 'cursor' }>

export type RfbEvents = {
  /**
   * The viewer did something, in the order it did it: whether it may is for the listener to say.
   * True if it was passed on. One that asked for another size is told so; and the new size once
   * `setGeometry` says it.
   */
  readonly input: (event: GuestInputEvent) => boolean
  /** It has nothing of this area: every tile that touches it is to be sent anew. */
  readonly refresh: (area: Rectangle) => void
  /** `wantsUpdate` has become true. */
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
 * One viewer's conversation: bytes in, bytes out. It says nothing that was not asked for, but for
 * copied text and answers: between updates, what changes is for the caller to remember as the set of
 * tiles that this viewer has not got, and here as the newest geometry and cursor.
 */
export class RfbViewer {
  readonly #options: RfbOptions

  /** Says the protocol's version. */
  constructor(options: RfbOptions) {
    this.#options = options
  }

  /** Any cut of the byte stream. Throws RfbError, after which it is of no more use. */
  receive(bytes: Buffer): void {
    throw new Error(`not yet: ${this.#options.name} ${bytes.length}`)
  }

  /** The handshake is done: the viewer knows the geometry, and may be sent copied text. */
  get isReady(): boolean {
    return false
  }

  /** An update was asked for and none is on its way. */
  get wantsUpdate(): boolean {
    return false
  }

  /** There is a geometry or a cursor to be told: worth an update that has no tiles. */
  get hasNews(): boolean {
    return false
  }

  /** The update that was asked for may show some of this area. */
  wants(_area: Rectangle): boolean {
    return false
  }

  /** How many bytes the tile takes for this viewer, whose encoding may not be the tile's own. */
  sizeOf(tile: Tile): number {
    return tile.body.length
  }

  /** From the next update on. The viewer has none of its tiles then. */
  setGeometry(_geometry: Geometry): void {}

  /** With the next update. */
  setCursor(_cursor: Cursor): void {}

  /**
   * Answers what was asked for, with what is new of geometry and cursor; without any of these and
   * without tiles it does nothing. Call it only while `wantsUpdate`. It is sent when this returns if
   * the viewer takes tiles as they are; tiles that were decoded first for a geometry which changed
   * meanwhile are left out. Rejects with RfbError if the viewer cannot follow a new geometry, with
   * TileError if a tile cannot be decoded.
   */
  async sendUpdate(_tiles: readonly Tile[]): Promise<void> {}

  /** Offered now, and given to a viewer that asks for it; to one that cannot ask, given. */
  sendCopiedText(_text: string): void {}
}
