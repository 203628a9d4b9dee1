import { encodeFrame } from '@computer/contract/guest-frames'
import { frameKind, type ScreenFromGuest } from '@computer/contract/guest-streams'
import type { Duplex } from 'node:stream'
import { setImmediate as yieldToInput, setTimeout as pause } from 'node:timers/promises'
import type { Seat } from '../desktop/desktop.ts'
import type { InputHost } from '../desktop/input.ts'
import { Capture } from './capture.ts'
import { watchCopiedText } from './copied-text.ts'
import { watchCursor, type Cursor } from './cursor.ts'
import { tileArea, type Grid } from './grid.ts'
import { ScreenInput } from './input.ts'
import { ScreenStream } from './stream.ts'
import { encodeTile } from './tile-codec.ts'

/**
 * The live screen, for every server process that watches. Each change is fetched and encoded once:
 * the newest form of each tile is kept here, and each stream takes from it what it misses, when it
 * has room. While no stream has, nothing is fetched; while none is open, nothing is kept.
 */
export class Screens {
  readonly #host: InputHost
  readonly #streams = new Set<ScreenStream>()
  readonly #tiles = new Map<number, Buffer>()
  /** Tiles to encode once more, and since when they have been still. */
  readonly #drafts = new Map<number, number>()
  #geometry: Geometry | undefined
  #cursor: Cursor | undefined
  #isRunning = false
  #wake: () => void = () => {}

  constructor(host: InputHost) {
    this.#host = host
  }

  open(duplex: Duplex): void {
    const stream: ScreenStream = new ScreenStream(duplex, this.#tiles, {
      onReady: () => this.#wake(),
      onInput: (message) => input.take(message),
      onClose: () => {
        input.close()
        this.#streams.delete(stream)
        this.#wake()
      },
    })
    const input = new ScreenInput(this.#host, {
      onRefused: (message) => stream.refuse(message),
      onFull: () => stream.pause(),
      onDrained: () => stream.resume(),
    })
    if (duplex.destroyed) return
    this.#streams.add(stream)
    if (this.#geometry) stream.tellGeometry(this.#geometry)
    if (this.#cursor) stream.tell(this.#cursor)
    stream.markMissing(this.#tiles.keys())
    stream.flush()
    if (!this.#isRunning) void this.#run()
    this.#wake()
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#streams.size > 0) {
      const seat = await this.#host.desktop.current()
      // An X server that went away comes back.
      const isOver = seat !== undefined && (await this.#show(seat))
      if (!isOver) await pause(seatRetryMs, undefined, { ref: false })
    }
    this.#isRunning = false
    this.#forget()
    this.#geometry = undefined
    this.#cursor = undefined
  }

  /** True when the last stream has closed, false when the X server has gone away. */
  async #show({ session, clipboard }: Seat): Promise<boolean> {
    using capture = new Capture(session, () => this.#wake())
    using _cursor = watchCursor(session, (cursor) => {
      this.#cursor = cursor
      this.#tell(cursor)
    })
    using _copied = watchCopiedText(session, clipboard, (text) => {
      this.#tell({ type: 'clipboard', text })
    })
    void session.x.closed.then(() => this.#wake())
    try {
      while (this.#streams.size > 0 && !session.x.isClosed) {
        const { promise, resolve } = Promise.withResolvers<void>()
        this.#wake = resolve
        if (!this.#hasReader()) await promise
        else if (capture.hasDamage) await this.#sendChanges(capture)
        else if (this.#stillDrafts().length > 0) await this.#sendStill(capture)
        else await this.#sleep(promise)
      }
    } catch (error) {
      if (!session.x.isClosed) console.error('the screen could not be sent', error)
      return false
    }
    return !session.x.isClosed
  }

  #tell(message: Parameters<ScreenStream['tell']>[0]): void {
    for (const stream of this.#streams) {
      stream.tell(message)
      stream.flush()
    }
  }

  #hasReader(): boolean {
    return [...this.#streams].some((stream) => stream.isReady)
  }

  async #sendChanges(capture: Capture): Promise<void> {
    const startedMs = performance.now()
    const { grid, isNew, changed } = await capture.look()
    if (isNew) {
      this.#forget()
      this.#geometry = { type: 'geometry', width: grid.width, height: grid.height }
      for (const stream of this.#streams) stream.tellGeometry(this.#geometry)
    }
    await this.#encode(capture, grid, changed, 'moving')
    const tookMs = performance.now() - startedMs
    // At most half of the time goes to pictures: the machine has other things to do.
    await pause(Math.max(tookMs, leastFrameMs - tookMs))
  }

  /** A few at a time: what changes meanwhile goes first. */
  async #sendStill(capture: Capture): Promise<void> {
    const drafts = this.#stillDrafts().slice(0, stillAtOnce)
    await this.#encode(capture, capture.grid, drafts, 'still')
  }

  #stillDrafts(): number[] {
    const since = performance.now() - stillMs
    return [...this.#drafts].filter(([, atMs]) => atMs <= since).map(([tile]) => tile)
  }

  /** None is to be seen before all are there, so that a frame is of one moment. */
  async #encode(
    { frame }: Capture,
    grid: Grid,
    tiles: readonly number[],
    pace: 'moving' | 'still',
  ): Promise<void> {
    const encoded = new Map<number, Buffer>()
    const waiting = tiles.values()
    const work = async () => {
      for (const tile of waiting) {
        const area = tileArea(grid, tile)
        const { body, isDraft } = await encodeTile(frame, area, pace)
        encoded.set(tile, frameTile(area, body))
        if (isDraft) this.#drafts.set(tile, performance.now())
        else this.#drafts.delete(tile)
        await yieldToInput()
      }
    }
    await Promise.all(Array.from({ length: encodersAtOnce }, work))
    for (const [tile, bytes] of encoded) this.#tiles.set(tile, bytes)
    for (const stream of this.#streams) {
      stream.markMissing(encoded.keys())
      stream.flush()
    }
  }

  /** Until something happens, or a draft has been still for long enough. */
  async #sleep(happens: Promise<void>): Promise<void> {
    if (this.#drafts.size === 0) return happens
    const dueMs = Math.min(...this.#drafts.values()) + stillMs - performance.now()
    const timer = new AbortController()
    const due = pause(Math.max(1, dueMs), undefined, { signal: timer.signal }).catch(() => {})
    await Promise.race([happens, due])
    timer.abort()
  }

  #forget(): void {
    this.#tiles.clear()
    this.#drafts.clear()
  }
}

type Geometry = Extract<ScreenFromGuest, { type: 'geometry' }>

const seatRetryMs = 200
/** No viewer shows more frames than 60 in a second. */
const leastFrameMs = 16
const stillMs = 300
const stillAtOnce = 4
const encodersAtOnce = 2

function frameTile({ x, y, width, height }: ReturnType<typeof tileArea>, body: Buffer): Buffer {
  const head = Buffer.alloc(8)
  for (const [index, value] of [x, y, width, height].entries()) head.writeUInt16BE(value, index * 2)
  return encodeFrame(frameKind.payload, head, body)
}
