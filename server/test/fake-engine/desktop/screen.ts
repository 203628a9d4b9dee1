import {
  encodeControl,
  encodeFrame,
  frameKind,
  FrameReader,
  limitsToGuest,
  ScreenToGuest,
  type ScreenFromGuest,
} from '@computer/contract'
import { randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { constants, deflateSync } from 'node:zlib'
import type { FakeDesktop } from './desktop.ts'
import { GuestFault } from '../guest/fault.ts'

type ScreenUpdate = Extract<ScreenFromGuest, { type: 'cursor' | 'clipboard' }>

const tileWidth = 256
const tileHeight = 128
const framesInFlight = 2

/**
 * The screen stream of a fake guest, as contract/src/guest-streams.ts promises it: a grid of tiles
 * that change when they are painted. Each stream tracks the tiles its client lacks and sends them when there is room.
 */
export class FakeScreens {
  /** Frames sent and inputs received, over all streams. */
  frames = 0
  inputs = 0
  readonly #desktop: FakeDesktop
  readonly #streams = new Set<FakeScreenStream>()
  #width = 0
  #height = 0
  #tiles: Buffer[] = []

  constructor(desktop: FakeDesktop) {
    this.#desktop = desktop
    desktop.onDisplay = () => this.#updateSize()
    desktop.onPrivacy = () => {
      for (const stream of this.#streams) stream.close()
    }
    this.#updateSize()
  }

  /** The number of open streams. */
  get streams(): number {
    return this.#streams.size
  }

  open(stream: Duplex): void {
    const opened = new FakeScreenStream(stream, this.#desktop, {
      tileOf: (index) => this.#tiles[index]!,
      all: () => this.#tiles.keys(),
      onFrame: () => (this.frames += 1),
      onInput: () => (this.inputs += 1),
      onClose: () => this.#streams.delete(opened),
    })
    this.#streams.add(opened)
    if (this.#tiles.length > 0) opened.showAll(this.#width, this.#height)
  }

  /** Paints the whole tile that the point is in: a colour, or noise that does not compress. */
  paint(x: number, y: number, how: number | 'noise'): void {
    this.#set(this.#indexOf(x, y), how)
    for (const stream of this.#streams) stream.flush()
  }

  paintAll(how: number | 'noise'): void {
    for (const index of this.#tiles.keys()) this.#set(index, how)
    for (const stream of this.#streams) stream.flush()
  }

  /** The pointer's shape has changed, or a program has copied text. */
  update(message: ScreenUpdate): void {
    for (const stream of this.#streams) stream.update(message)
  }

  /** Sends bytes that no correct agent sends. */
  sendRaw(bytes: Buffer): void {
    for (const stream of this.#streams) stream.write(bytes)
  }

  #updateSize(): void {
    const { up, width, height } = this.#desktop.display
    if (!up || (width === this.#width && height === this.#height)) return
    this.#width = width
    this.#height = height
    const count = this.#columns * Math.ceil(height / tileHeight)
    this.#tiles = Array.from({ length: count }, (_, index) => this.#encode(index, 0x20_30_40))
    for (const stream of this.#streams) stream.showAll(width, height)
  }

  get #columns(): number {
    return Math.ceil(this.#width / tileWidth)
  }

  #indexOf(x: number, y: number): number {
    return Math.floor(y / tileHeight) * this.#columns + Math.floor(x / tileWidth)
  }

  #set(index: number, how: number | 'noise'): void {
    this.#tiles[index] = this.#encode(index, how)
    for (const stream of this.#streams) stream.miss(index)
  }

  #encode(index: number, how: number | 'noise'): Buffer {
    const x = (index % this.#columns) * tileWidth
    const y = Math.floor(index / this.#columns) * tileHeight
    const width = Math.min(tileWidth, this.#width - x)
    const height = Math.min(tileHeight, this.#height - y)
    const head = Buffer.alloc(8)
    for (const [at, value] of [x, y, width, height].entries()) head.writeUInt16BE(value, at * 2)
    const body = how === 'noise' ? encodeNoise(width * height) : encodeFill(how)
    return encodeFrame(frameKind.payload, head, body)
  }
}

type Source = {
  readonly tileOf: (index: number) => Buffer
  readonly all: () => Iterable<number>
  readonly onFrame: () => void
  readonly onInput: () => void
  readonly onClose: () => void
}

class FakeScreenStream {
  readonly #stream: Duplex
  readonly #desktop: FakeDesktop
  readonly #source: Source
  readonly #missing = new Set<number>()
  readonly #updates = new Map<ScreenFromGuest['type'], ScreenFromGuest>()
  /** Keys and buttons that its viewers hold. */
  readonly #held = new Set<string>()
  /** By viewer, the last fence whose refusal was sent. */
  readonly #refused = new Map<number, number>()
  #sent = 0
  #taken = 0

  constructor(stream: Duplex, desktop: FakeDesktop, source: Source) {
    this.#stream = stream
    this.#desktop = desktop
    this.#source = source
    const reader = new FrameReader(limitsToGuest)
    stream.on('data', (chunk: Buffer) => {
      for (const { payload } of reader.push(chunk)) {
        this.#take(ScreenToGuest.parse(JSON.parse(payload.toString())))
      }
    })
    stream.once('end', () => stream.end())
    stream.once('close', () => {
      source.onClose()
      desktop.releaseHeld(this.#held)
    })
  }

  showAll(width: number, height: number): void {
    this.#updates.set('geometry', { type: 'geometry', width, height })
    for (const index of this.#source.all()) this.#missing.add(index)
    this.flush()
  }

  miss(index: number): void {
    this.#missing.add(index)
  }

  update(message: ScreenUpdate): void {
    this.#updates.set(message.type, message)
    this.flush()
  }

  close(): void {
    this.#stream.destroy()
  }

  write(bytes: Buffer): void {
    this.#stream.write(bytes)
  }

  flush(): void {
    if (this.#stream.destroyed || this.#sent - this.#taken >= framesInFlight) return
    if (this.#missing.size === 0 && this.#updates.size === 0) return
    for (const message of this.#updates.values()) this.#stream.write(encodeControl(message))
    for (const index of this.#missing) this.#stream.write(this.#source.tileOf(index))
    this.#updates.clear()
    this.#missing.clear()
    this.#stream.write(encodeControl({ type: 'frame', frame: ++this.#sent }))
    this.#source.onFrame()
  }

  #take(message: ScreenToGuest): void {
    if (message.type === 'input') return void this.#perform(message)
    if (message.type === 'taken') this.#taken = message.frame
    else for (const index of this.#source.all()) this.#missing.add(index)
    this.flush()
  }

  async #perform(input: Extract<ScreenToGuest, { type: 'input' }>): Promise<void> {
    const { viewer, fence, event } = input
    this.#source.onInput()
    try {
      await this.#desktop.follow(fence, event, this.#held)
    } catch (error) {
      if (!(error instanceof GuestFault)) throw error
      if (this.#refused.get(viewer) === fence || this.#stream.destroyed) return
      this.#refused.set(viewer, fence)
      const { code, message, reason } = error
      const refused = { type: 'refused', viewer, fence, error: { code, message, reason } }
      this.#stream.write(encodeControl(refused))
    }
  }
}

/** Tight bodies: one colour, or all pixels through zlib stream 0 after a reset. */
function encodeFill(colour: number): Buffer {
  return Buffer.of(0x80, colour >>> 16, colour >>> 8, colour)
}

function encodeNoise(pixels: number): Buffer {
  const packed = deflateSync(randomBytes(pixels * 3), {
    level: 1,
    finishFlush: constants.Z_SYNC_FLUSH,
  })
  const { length } = packed
  const head = Buffer.of(0x01, (length & 0x7f) | 0x80, ((length >> 7) & 0x7f) | 0x80, length >> 14)
  return Buffer.concat([head, packed])
}
