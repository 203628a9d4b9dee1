import type { InputLease, MachineState, SessionId } from '@computer/contract'
import type { Connection } from '../connection.ts'
import type { Cursor } from '../rfb/cursor.ts'
import { RfbError } from '../rfb/error.ts'
import { RfbSession } from '../rfb/session.ts'
import { intersects, type Geometry, type Rectangle, type Tile } from '../rfb/tile.ts'
import type { ClientInput } from './client-input.ts'
import type { Framebuffer, FramebufferChange } from './framebuffer.ts'
import type { TileKey } from './tile-set.ts'

/** Upper bound on one frame from a client. The largest is a clipboard. */
const maxMessageBytes = 512 * 1024
/** The rest waits for the next update. A screen that is sent in its own encoding is far smaller. */
const maxUpdateBytes = 8 * 1024 * 1024
/** Close frames hold little more. */
const maxReasonLength = 100

type ScreenClientOptions = {
  readonly connection: Connection
  readonly machineName: string
  readonly framebuffer: Framebuffer
  readonly input: ClientInput
  /** The client asked for an update and has the newest one. */
  readonly onUpToDate: () => void
  /** The client is disconnected because of a failure on our side. */
  readonly onFailure: (error: unknown) => void
}

/**
 * One connection that shows a machine's screen. It tracks which tiles the client lacks. When the client
 * has asked for an update and its socket has room, it gets the newest content of those tiles. So a slow
 * client gets fewer frames instead of a growing buffer, and does not delay others.
 */
export class ScreenClient {
  readonly input: ClientInput
  readonly #connection: Connection
  readonly #options: ScreenClientOptions
  readonly #dirty = new Set<TileKey>()
  #rfb: RfbSession | null = null
  #isAwaitingRoom = false
  #state: MachineState | null = null
  #lease = ''

  constructor(options: ScreenClientOptions) {
    this.#options = options
    this.#connection = options.connection
    this.input = options.input
    this.#connection.onPayload((bytes) => this.#receive(bytes), maxMessageBytes)
  }

  /** The session that the client was opened with; null for one that only watches. */
  get sessionId(): SessionId | null {
    return this.#connection.authorization.sessionId ?? null
  }

  /** The screen has become private to another session. */
  exclude(): void {
    this.#close('conflict', 'the screen is private to the person who helps')
  }

  /** The client may connect again. */
  disconnect(reason: string): void {
    this.#connection.close('goingAway', reason)
  }

  /** Sends what has changed. That the machine runs is said by its first screen. */
  sendState(state: MachineState, lease: InputLease): void {
    if (this.#rfb === null && this.#state === null && state === 'running') return
    if (state !== this.#state && (this.#state !== null || state !== 'running')) {
      this.#connection.sendControl({ type: 'machine', state })
    }
    this.#state = state
    const text = JSON.stringify(lease)
    if (text !== this.#lease) this.#connection.sendControl({ type: 'lease', ...lease })
    this.#lease = text
  }

  /** The framebuffer became complete: a stream began, or the screen has a new size. */
  begin(change: FramebufferChange, cursor: Cursor | null): void {
    const geometry = this.#options.framebuffer.geometry!
    this.#connection.sendControl({ type: 'ready', ...geometry })
    if (this.#rfb) this.show(change)
    else this.#openSession(geometry, cursor)
  }

  show({ isResized, tiles }: FramebufferChange): void {
    if (isResized) {
      this.#dirty.clear()
      this.#rfb?.setGeometry(this.#options.framebuffer.geometry!)
    }
    for (const key of tiles) this.#dirty.add(key)
    this.flush()
  }

  setCursor(cursor: Cursor): void {
    this.#rfb?.setCursor(cursor)
    this.flush()
  }

  /** Only the client that controls the machine receives text copied inside it. */
  sendCopiedText(text: string): void {
    if (this.input.isGranted) this.#rfb?.sendCopiedText(text)
  }

  /** Sends the update that was asked for, if there is room. */
  flush(): void {
    const rfb = this.#rfb
    if (!rfb?.wantsUpdate || !this.#connection.isOpen) return
    if (!this.#connection.hasRoom) return this.#flushWhenDrained()
    const tiles = this.#takeDirty(rfb)
    if (tiles.length > 0 || rfb.hasPendingState) void this.#update(rfb, tiles)
    this.#options.onUpToDate()
  }

  #openSession(geometry: Geometry, cursor: Cursor | null): void {
    this.#markDirty()
    const { input } = this
    this.#rfb = new RfbSession({
      name: this.#options.machineName,
      geometry,
      send: (bytes) => this.#connection.sendPayload(bytes),
      on: {
        input: (event) => input.take(event),
        refresh: (area) => this.#markDirty(area),
        wanted: () => this.flush(),
      },
    })
    if (cursor) this.#rfb.setCursor(cursor)
  }

  async #update(rfb: RfbSession, tiles: readonly Tile[]): Promise<void> {
    try {
      await rfb.sendUpdate(tiles)
    } catch (error) {
      // The client cannot resize. A new connection begins with the new size.
      if (error instanceof RfbError) this.#close('goingAway', error.message)
      else this.#fail(error)
    }
  }

  #takeDirty(rfb: RfbSession): Tile[] {
    const tiles: Tile[] = []
    let bytes = 0
    for (const key of this.#dirty) {
      const tile = this.#options.framebuffer.get(key)
      if (tile && !rfb.wants(tile)) continue
      if (bytes > maxUpdateBytes) break
      this.#dirty.delete(key)
      if (!tile) continue
      tiles.push(tile)
      bytes += rfb.sizeOf(tile)
    }
    return tiles
  }

  #markDirty(area?: Rectangle): void {
    const { framebuffer } = this.#options
    for (const key of framebuffer.keys()) {
      if (!area || intersects(framebuffer.get(key)!, area)) this.#dirty.add(key)
    }
  }

  #flushWhenDrained(): void {
    if (this.#isAwaitingRoom) return
    this.#isAwaitingRoom = true
    void this.#connection.drained().then(() => {
      this.#isAwaitingRoom = false
      this.flush()
    })
  }

  #receive(bytes: Buffer): void {
    if (!this.#rfb) return this.#connection.close('protocolError', 'the server sends first in RFB')
    try {
      this.#rfb.receive(bytes)
    } catch (error) {
      if (!(error instanceof RfbError)) return this.#fail(error)
      this.#close(error.isTooLarge ? 'messageTooLarge' : 'protocolError', error.message)
    }
  }

  #fail(error: unknown): void {
    this.#options.onFailure(error)
    this.#close('goingAway', 'the screen could not be shown; reconnect')
  }

  #close(reason: Parameters<Connection['close']>[0], message: string): void {
    this.#connection.close(reason, message.slice(0, maxReasonLength))
  }
}
