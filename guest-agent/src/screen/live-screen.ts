import { encodeFrame } from '@computer/contract/guest-frames'
import { frameKind, type ScreenFromGuest } from '@computer/contract/guest-streams'
import { encodeTileHeader } from '@computer/contract/tiles'
import type { Duplex } from 'node:stream'
import { setImmediate as yieldToInput, setTimeout as pause } from 'node:timers/promises'
import type { DesktopSession } from '../desktop/desktop.ts'
import type { InputHost } from '../desktop/input.ts'
import { ScreenGrabber } from './grabber.ts'
import { watchClipboard } from './clipboard-watch.ts'
import { watchCursor, type Cursor } from './cursor-watch.ts'
import { tileArea, type Grid } from './grid.ts'
import { ScreenInput } from './input.ts'
import { ScreenStream } from './stream.ts'
import { encodeTile } from './tile-codec.ts'

/**
 * The live screen, for every server process that watches it. Each change is fetched and encoded
 * once. The latest version of each tile is kept here, and each stream sends the tiles it is missing
 * when it has capacity. Nothing is fetched while no stream has capacity; nothing is kept while none
 * is open, or beyond a `restart`.
 */
export class LiveScreen {
  readonly #host: InputHost
  readonly #streams = new Set<ScreenStream>()
  readonly #tiles = new Map<number, Buffer>()
  /** Tiles to encode again with better quality, and when each last changed. */
  readonly #drafts = new Map<number, number>()
  #geometry: Geometry | undefined
  #cursor: Cursor | undefined
  /** Rises with each restart. Work of an earlier epoch publishes nothing. */
  #epoch = 0
  #isRunning = false
  #wake: () => void = () => {}

  constructor(host: InputHost) {
    this.#host = host
  }

  open(duplex: Duplex): void {
    const stream: ScreenStream = new ScreenStream(duplex, this.#tiles, {
      onReady: () => this.#wake(),
      onInput: (message) => input.enqueue(message),
      onClose: () => {
        input.close()
        this.#streams.delete(stream)
        this.#wake()
      },
    })
    const input = new ScreenInput(this.#host, {
      onRefused: (message) => stream.sendRefusal(message),
      onFull: () => stream.pause(),
      onDrained: () => stream.resume(),
    })
    if (duplex.destroyed) return
    this.#streams.add(stream)
    if (this.#geometry) stream.queueGeometry(this.#geometry)
    if (this.#cursor) stream.queue(this.#cursor)
    stream.markMissing(this.#tiles.keys())
    stream.flush()
    if (!this.#isRunning) void this.#run()
    this.#wake()
  }

  /** Closes all streams and forgets what they showed: streams that open from now on see none of it. */
  restart(): void {
    this.#epoch += 1
    for (const stream of this.#streams) stream.close()
    this.#streams.clear()
    this.#forget()
    this.#wake()
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#streams.size > 0) {
      const session = await this.#host.desktop.current()
      const isFinished = session !== undefined && (await this.#stream(session))
      // The X server will be restarted.
      if (!isFinished) await pause(reconnectMs, undefined, { ref: false })
    }
    this.#isRunning = false
    this.#forget()
  }

  /** Returns true when the last stream has closed or after a restart, false when the X server is gone. */
  async #stream({ xSession, clipboard }: DesktopSession): Promise<boolean> {
    const epoch = this.#epoch
    using grabber = new ScreenGrabber(xSession, () => this.#wake())
    using _cursor = watchCursor(xSession, (cursor) => {
      if (epoch !== this.#epoch) return
      this.#cursor = cursor
      this.#broadcast(cursor)
    })
    using _clipboard = watchClipboard(xSession, clipboard, (text) => {
      if (epoch === this.#epoch) this.#broadcast({ type: 'clipboard', text })
    })
    void xSession.x.closed.then(() => this.#wake())
    try {
      while (this.#streams.size > 0 && epoch === this.#epoch && !xSession.x.isClosed) {
        const { promise, resolve } = Promise.withResolvers<void>()
        this.#wake = resolve
        if (!this.#hasReadyStream()) await promise
        else if (grabber.hasDamage) await this.#sendChanges(grabber)
        else if (this.#stillDrafts().length > 0) await this.#sendStill(grabber)
        else await this.#sleep(promise)
      }
    } catch (error) {
      if (!xSession.x.isClosed) console.error('could not grab the screen; will retry', error)
      return false
    }
    return !xSession.x.isClosed
  }

  #broadcast(message: Parameters<ScreenStream['queue']>[0]): void {
    for (const stream of this.#streams) {
      stream.queue(message)
      stream.flush()
    }
  }

  #hasReadyStream(): boolean {
    return [...this.#streams].some((stream) => stream.isReady)
  }

  async #sendChanges(grabber: ScreenGrabber): Promise<void> {
    const startedMs = performance.now()
    const epoch = this.#epoch
    const { grid, isNew, changed } = await grabber.grab()
    if (epoch !== this.#epoch) return
    if (isNew) {
      this.#clear()
      this.#geometry = { type: 'geometry', width: grid.width, height: grid.height }
      for (const stream of this.#streams) stream.queueGeometry(this.#geometry)
    }
    await this.#encode(grabber, grid, changed, 'moving')
    const tookMs = performance.now() - startedMs
    // Spends at most half of the time on frames: the machine has other work to do.
    await pause(Math.max(tookMs, minFrameMs - tookMs))
  }

  /** A few at a time, so that new changes can go first. */
  async #sendStill(grabber: ScreenGrabber): Promise<void> {
    const drafts = this.#stillDrafts().slice(0, stillAtOnce)
    await this.#encode(grabber, grabber.grid, drafts, 'still')
  }

  #stillDrafts(): number[] {
    const since = performance.now() - stillMs
    return [...this.#drafts].filter(([, atMs]) => atMs <= since).map(([tile]) => tile)
  }

  /** Publishes the tiles only when all are encoded, so that a frame shows one moment. */
  async #encode(
    { frame }: ScreenGrabber,
    grid: Grid,
    tiles: readonly number[],
    pace: 'moving' | 'still',
  ): Promise<void> {
    const epoch = this.#epoch
    const encoded = new Map<number, Buffer>()
    const remaining = tiles.values()
    const work = async () => {
      for (const tile of remaining) {
        const area = tileArea(grid, tile)
        const { body, isDraft } = await encodeTile(frame, area, pace)
        if (epoch !== this.#epoch) return
        encoded.set(tile, encodeFrame(frameKind.payload, encodeTileHeader(area), body))
        if (isDraft) this.#drafts.set(tile, performance.now())
        else this.#drafts.delete(tile)
        await yieldToInput()
      }
    }
    await Promise.all(Array.from({ length: encodersAtOnce }, work))
    if (epoch !== this.#epoch) return
    for (const [tile, bytes] of encoded) this.#tiles.set(tile, bytes)
    for (const stream of this.#streams) {
      stream.markMissing(encoded.keys())
      stream.flush()
    }
  }

  /** Until it is woken, or a draft has been still for long enough. */
  async #sleep(woken: Promise<void>): Promise<void> {
    if (this.#drafts.size === 0) return woken
    const dueMs = Math.min(...this.#drafts.values()) + stillMs - performance.now()
    const timer = new AbortController()
    const due = pause(Math.max(1, dueMs), undefined, { signal: timer.signal }).catch(() => {})
    await Promise.race([woken, due])
    timer.abort()
  }

  #forget(): void {
    this.#clear()
    this.#geometry = undefined
    this.#cursor = undefined
  }

  #clear(): void {
    this.#tiles.clear()
    this.#drafts.clear()
  }
}

type Geometry = Extract<ScreenFromGuest, { type: 'geometry' }>

const reconnectMs = 200
/** Viewers show at most 60 frames a second. */
const minFrameMs = 16
const stillMs = 300
const stillAtOnce = 4
const encodersAtOnce = 2
