import { encodeControl, FrameReader } from '@computer/contract/guest-frames'
import { frameKind, ScreenToGuest, type ScreenFromGuest } from '@computer/contract/guest-streams'
import type { Duplex } from 'node:stream'

/** What a stream takes tiles from: the newest of each, framed for the wire. */
export type TileStore = ReadonlyMap<number, Buffer>

export type StreamListener = {
  /** It has room for another frame, and nothing left that it could send. */
  onReady(): void
  onInput(input: Extract<ScreenToGuest, { type: 'input' }>): void
  onClose(): void
}

/**
 * One server process that watches. What it has not got yet is a set of tiles and the newest geometry,
 * cursor and clipboard, never a queue: a slow one misses what was between, and holds up nobody.
 */
export class ScreenStream {
  readonly #stream: Duplex
  readonly #listener: StreamListener
  readonly #tiles: TileStore
  readonly #missing = new Set<number>()
  readonly #news = new Map<ScreenFromGuest['type'], Buffer>()
  #sentFrame = 0
  #takenFrame = 0

  constructor(stream: Duplex, tiles: TileStore, listener: StreamListener) {
    this.#stream = stream
    this.#tiles = tiles
    this.#listener = listener
    stream.once('close', () => listener.onClose())
    stream.once('end', () => stream.end())
    this.#hear()
  }

  get isReady(): boolean {
    return this.#sentFrame - this.#takenFrame < framesInFlight
  }

  /** Tiles of an earlier geometry are nothing any more. */
  tellGeometry(message: Extract<ScreenFromGuest, { type: 'geometry' }>): void {
    this.#missing.clear()
    this.#news.set('geometry', encodeControl(message))
  }

  /** With the next frame, unless a newer one replaces it first. */
  tell(message: Extract<ScreenFromGuest, { type: 'cursor' | 'clipboard' }>): void {
    this.#news.set(message.type, encodeControl(message))
  }

  refuse(message: Extract<ScreenFromGuest, { type: 'refused' }>): void {
    if (this.#isOpen) this.#stream.write(encodeControl(message))
  }

  markMissing(tiles: Iterable<number>): void {
    for (const tile of tiles) this.#missing.add(tile)
  }

  /** Sends what it has not got, as one frame, if it has room. */
  flush(): void {
    if (!this.#isOpen || !this.isReady) return
    if (this.#missing.size === 0 && this.#news.size === 0) return
    this.#stream.cork()
    for (const type of newsOrder) {
      const message = this.#news.get(type)
      if (message) this.#stream.write(message)
    }
    for (const tile of this.#missing) this.#stream.write(this.#tiles.get(tile)!)
    this.#stream.write(encodeControl({ type: 'frame', frame: ++this.#sentFrame }))
    this.#stream.uncork()
    this.#news.clear()
    this.#missing.clear()
  }

  /** No more is read from it until `resume`. */
  pause(): void {
    this.#stream.pause()
  }

  resume(): void {
    this.#stream.resume()
  }

  get #isOpen(): boolean {
    return !this.#stream.destroyed && !this.#stream.writableEnded
  }

  #hear(): void {
    const reader = new FrameReader()
    this.#stream.on('data', (chunk: Buffer) => {
      try {
        for (const { kind, payload } of reader.push(chunk)) {
          if (kind !== frameKind.control) throw new Error('the screen takes no payload')
          this.#take(ScreenToGuest.parse(JSON.parse(payload.toString('utf8'))))
        }
      } catch {
        // Not the protocol: whoever sends it has no use for the rest.
        this.#stream.destroy()
      }
    })
  }

  #take(message: ScreenToGuest): void {
    switch (message.type) {
      case 'input':
        return this.#listener.onInput(message)
      case 'taken':
        if (message.frame > this.#sentFrame) throw new Error('a frame that was never sent')
        this.#takenFrame = Math.max(this.#takenFrame, message.frame)
        this.flush()
        return this.#listener.onReady()
      case 'refresh':
        this.markMissing(this.#tiles.keys())
        return this.flush()
    }
  }
}

/** The second is made while the first is on its way. */
const framesInFlight = 2
const newsOrder = ['geometry', 'cursor', 'clipboard'] as const
