import {
  ScreenClientMessage,
  type GuestInputEvent,
  type InputLease,
  type MachineState,
} from '@computer/contract'
import type { Connection } from '../connection.ts'
import { RfbError } from '../rfb/error.ts'
import type { Geometry, Rectangle, Tile } from '../rfb/tile.ts'
import { RfbSession, type Cursor } from '../rfb/session.ts'
import { MessageRate } from './message-rate.ts'
import type { Change, Framebuffer } from './framebuffer.ts'
import type { TileKey } from './tile-set.ts'
import type { ClientInput } from './client-input.ts'

/** What a client may send in one frame: a clipboard is most of it. */
const maxMessageBytes = 512 * 1024
/** What is more waits for the next update. No screen whose tiles go out as they are comes near. */
const maxUpdateBytes = 8 * 1024 * 1024
/** A close frame has no room for more. */
const longestReason = 100

export type ScreenClientOptions = {
  readonly connection: Connection
  readonly machineName: string
  readonly store: Framebuffer
  /** Null: it only looks. */
  readonly input: ClientInput | null
  /** It asked for an update, and has what is newest of it now. */
  readonly onUpToDate: () => void
  /** It is closed for a failure that is not its own. */
  readonly onFailure: (error: unknown) => void
}

/**
 * One socket that views a machine. What it has not got is a set of places on the screen: when it has
 * asked for an update and there is room, it is sent what is newest there. So a slow one gets fewer
 * frames, never a growing buffer, and holds up nobody.
 */
export class ScreenClient {
  readonly connection: Connection
  readonly input: ClientInput | null
  readonly #options: ScreenClientOptions
  readonly #rate = new MessageRate()
  readonly #missing = new Set<TileKey>()
  #rfb: RfbSession | null = null
  #isAwaitingRoom = false
  #state: MachineState | null = null
  #lease = ''

  constructor(options: ScreenClientOptions) {
    this.#options = options
    this.connection = options.connection
    this.input = options.input
    this.connection.onPayload((bytes) => this.#receive(bytes), maxMessageBytes)
    this.connection.onControl(ScreenClientMessage, ({ fence }) => {
      if (this.#countMessage()) this.input?.name(fence)
    })
  }

  /** Says what has changed since it was last told. A running machine's screen says that it runs. */
  tell(state: MachineState, lease: InputLease): void {
    if (this.#rfb === null && this.#state === null && state === 'running') return
    if (state !== this.#state && (this.#state !== null || state !== 'running')) {
      this.connection.sendControl({ type: 'machine', state })
    }
    this.#state = state
    const text = JSON.stringify(lease)
    if (text !== this.#lease) this.connection.sendControl({ type: 'lease', ...lease })
    this.#lease = text
  }

  /** A stream has begun, or the screen has another size: it is whole. */
  begin(change: Change, cursor: Cursor | null): void {
    const geometry = this.#options.store.geometry!
    this.connection.sendControl({ type: 'ready', ...geometry })
    if (this.#rfb) this.show(change)
    else this.#converse(geometry, cursor)
  }

  /** What is shown has changed. */
  show({ isResized, tiles }: Change): void {
    if (isResized) {
      this.#missing.clear()
      this.#rfb?.setGeometry(this.#options.store.geometry!)
    }
    for (const key of tiles) this.#missing.add(key)
    this.flush()
  }

  setCursor(cursor: Cursor): void {
    this.#rfb?.setCursor(cursor)
    this.flush()
  }

  /** Only whoever drives the machine is given what is copied in it. */
  giveCopiedText(text: string): void {
    if (this.input?.isGranted) this.#rfb?.sendCopiedText(text)
  }

  /** Sends what it asked for and has not got, if there is room. */
  flush(): void {
    const rfb = this.#rfb
    if (!rfb?.wantsUpdate || !this.connection.isOpen) return
    if (!this.connection.isRoomy) return this.#awaitRoom()
    const tiles = this.#takeMissing(rfb)
    if (tiles.length > 0 || rfb.hasPendingState) void this.#update(rfb, tiles)
    this.#options.onUpToDate()
  }

  #converse(geometry: Geometry, cursor: Cursor | null): void {
    this.#missAll()
    this.#rfb = new RfbSession({
      name: this.#options.machineName,
      geometry,
      send: (bytes) => this.connection.sendPayload(bytes),
      on: {
        input: (event) => this.#takeInput(event),
        refresh: (area) => this.#missAll(area),
        wanted: () => this.flush(),
      },
    })
    if (cursor) this.#rfb.setCursor(cursor)
  }

  async #update(rfb: RfbSession, tiles: readonly Tile[]): Promise<void> {
    try {
      await rfb.sendUpdate(tiles)
    } catch (error) {
      // It cannot follow to another size: a new connection begins with that.
      if (error instanceof RfbError) this.#close('goingAway', error.message)
      else this.#fail(error)
    }
  }

  #takeMissing(rfb: RfbSession): Tile[] {
    const tiles: Tile[] = []
    let bytes = 0
    for (const key of this.#missing) {
      const tile = this.#options.store.get(key)
      if (tile && !rfb.wants(tile)) continue
      if (bytes > maxUpdateBytes) break
      this.#missing.delete(key)
      if (!tile) continue
      tiles.push(tile)
      bytes += rfb.sizeOf(tile)
    }
    return tiles
  }

  #missAll(area?: Rectangle): void {
    for (const key of this.#options.store.keys()) {
      if (!area || touches(this.#options.store.get(key)!, area)) this.#missing.add(key)
    }
  }

  #awaitRoom(): void {
    if (this.#isAwaitingRoom) return
    this.#isAwaitingRoom = true
    void this.connection.drained().then(() => {
      this.#isAwaitingRoom = false
      this.flush()
    })
  }

  #receive(bytes: Buffer): void {
    if (!this.#rfb) return this.connection.close('protocolError', 'the server speaks first')
    try {
      this.#rfb.receive(bytes)
    } catch (error) {
      if (!(error instanceof RfbError)) return this.#fail(error)
      this.#close(error.isTooLarge ? 'messageTooLarge' : 'protocolError', error.message)
    }
  }

  #fail(error: unknown): void {
    this.#options.onFailure(error)
    this.#close('goingAway', 'the screen could not be shown; connect again')
  }

  #close(reason: Parameters<Connection['close']>[0], message: string): void {
    this.connection.close(reason, message.slice(0, longestReason))
  }

  #takeInput(event: GuestInputEvent): boolean {
    return this.#countMessage() && (this.input?.take(event) ?? false)
  }

  /** False once it has sent too many. */
  #countMessage(): boolean {
    if (!this.connection.isOpen) return false
    if (this.#rate.take()) return true
    this.connection.close('tooManyMessages', 'too many input messages')
    return false
  }
}

function touches(a: Rectangle, b: Rectangle): boolean {
  const isBeside = a.x + a.width <= b.x || b.x + b.width <= a.x
  const isAbove = a.y + a.height <= b.y || b.y + b.height <= a.y
  return !isBeside && !isAbove
}
