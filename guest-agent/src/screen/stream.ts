import { encodeControl, FrameReader } from '@computer/contract/guest-frames'
import {
  frameKind,
  limitsToGuest,
  ScreenToGuest,
  type ScreenFromGuest,
} from '@computer/contract/guest-streams'
import type { Duplex } from 'node:stream'

/** The latest version of each tile, framed for the wire. */
type TileStore = ReadonlyMap<number, Buffer>

type StreamListener = {
  /** It has capacity for another frame and nothing left to send. */
  onReady(): void
  onInput(input: Extract<ScreenToGuest, { type: 'input' }>): void
  onClose(): void
}

/**
 * The stream to one server process. Instead of a queue it has the set of tiles still to be sent and
 * the latest geometry, cursor and clipboard: a slow stream skips intermediate states and delays no
 * other.
 */
export class ScreenStream {
  readonly #stream: Duplex
  readonly #listener: StreamListener
  readonly #tiles: TileStore
  readonly #missing = new Set<number>()
  readonly #pending = new Map<ScreenFromGuest['type'], Buffer>()
  #hasGeometry = false
  #sentFrame = 0
  #takenFrame = 0

  constructor(stream: Duplex, tiles: TileStore, listener: StreamListener) {
    this.#stream = stream
    this.#tiles = tiles
    this.#listener = listener
    stream.once('close', () => listener.onClose())
    stream.once('end', () => stream.end())
    this.#readFrames()
  }

  get isReady(): boolean {
    return this.#sentFrame - this.#takenFrame < framesInFlight
  }

  /** Discards the tiles of the earlier geometry. */
  queueGeometry(message: Extract<ScreenFromGuest, { type: 'geometry' }>): void {
    this.#hasGeometry = true
    this.#missing.clear()
    this.#pending.set('geometry', encodeControl(message))
  }

  /** Sent with the next frame, unless a newer message of its type replaces it first. */
  queue(message: Extract<ScreenFromGuest, { type: 'cursor' | 'clipboard' }>): void {
    this.#pending.set(message.type, encodeControl(message))
  }

  sendRefusal(message: Extract<ScreenFromGuest, { type: 'refused' }>): void {
    if (this.#isOpen) this.#stream.write(encodeControl(message))
  }

  markMissing(tiles: Iterable<number>): void {
    for (const tile of tiles) this.#missing.add(tile)
  }

  /** Sends everything pending as one frame, if it has capacity. The first frame begins with a geometry. */
  flush(): void {
    if (!this.#isOpen || !this.isReady || !this.#hasGeometry) return
    if (this.#missing.size === 0 && this.#pending.size === 0) return
    this.#stream.cork()
    for (const type of sendOrder) {
      const message = this.#pending.get(type)
      if (message) this.#stream.write(message)
    }
    for (const tile of this.#missing) this.#stream.write(this.#tiles.get(tile)!)
    this.#stream.write(encodeControl({ type: 'frame', frame: ++this.#sentFrame }))
    this.#stream.uncork()
    this.#pending.clear()
    this.#missing.clear()
  }

  /** Sends nothing more. */
  close(): void {
    this.#stream.destroy()
  }

  /** Stops reading until `resume`. */
  pause(): void {
    this.#stream.pause()
  }

  resume(): void {
    this.#stream.resume()
  }

  get #isOpen(): boolean {
    return !this.#stream.destroyed && !this.#stream.writableEnded
  }

  #readFrames(): void {
    const reader = new FrameReader(limitsToGuest)
    this.#stream.on('data', (chunk: Buffer) => {
      try {
        for (const { kind, payload } of reader.push(chunk)) {
          if (kind !== frameKind.control) throw new Error('unexpected payload frame')
          this.#handle(ScreenToGuest.parse(JSON.parse(payload.toString('utf8'))))
        }
      } catch {
        // A protocol error: the rest of the stream cannot be trusted.
        this.#stream.destroy()
      }
    })
  }

  #handle(message: ScreenToGuest): void {
    switch (message.type) {
      case 'input':
        return this.#listener.onInput(message)
      case 'taken':
        if (message.frame > this.#sentFrame)
          throw new Error('acknowledged a frame that was not sent')
        this.#takenFrame = Math.max(this.#takenFrame, message.frame)
        this.flush()
        return this.#listener.onReady()
    }
  }
}

/** The second is prepared while the first is in flight. */
const framesInFlight = 2
const sendOrder = ['geometry', 'cursor', 'clipboard'] as const
