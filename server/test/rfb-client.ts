import { inflateSync } from 'node:zlib'
import type { WebSocket } from 'ws'
import { ByteReader } from './byte-reader.ts'
import {
  formatOfNovnc,
  formatOfServer,
  readFormat,
  unpackRgb,
  type TestFormat,
} from './rfb-format.ts'
import { clipboardFlag, messages, rfb, s32, type Area, type Size } from './rfb-messages.ts'
import { readCursor, readTight } from './rfb-pixels.ts'

export type RfbClientOptions = {
  /** The client's reply. Servers treat 003.005 as 003.003, and anything above 003.008 as 003.008. */
  readonly version?: `003.${string}`
  /** Null keeps the server's format. */
  readonly format?: TestFormat | null
  readonly encodings?: readonly number[]
  /** Requests the whole screen, then the next update after each one, as real clients do. */
  readonly follows?: boolean
}

export type ShownRectangle = Area & { readonly encoding: number }
export type ShownCursor = ShownRectangle & { readonly rgba: Buffer }
export type ToldSize = Size & { readonly reason: number; readonly status: number }

/**
 * A strict RFB client: it fails on anything that the specification or its listed encodings do not
 * allow, and keeps the screen. It shares no code with the server.
 */
export class RfbClient {
  name = ''
  width = 0
  height = 0
  /** The framebuffer, three bytes per pixel. */
  rgb = Buffer.alloc(0)
  format: TestFormat = formatOfServer
  cursor: ShownCursor | undefined
  isConnected = false
  /** The rectangles of every update with their encodings. */
  readonly updates: ShownRectangle[][] = []
  readonly sizes: ToldSize[] = []
  /** Texts that were copied on the server, from the plain and the extended form. */
  readonly copied: string[] = []
  /** The flags of every extended clipboard message received. */
  readonly clipboardFlags: number[] = []
  readonly #send: (bytes: Buffer) => void
  readonly #reader = new ByteReader()
  readonly #options: Required<RfbClientOptions>
  #encodings: readonly number[] = []
  #clipboard = ''
  #isBetweenMessages = false
  #failure: Error | undefined
  #happened = Promise.withResolvers<void>()

  constructor(send: (bytes: Buffer) => void, options: RfbClientOptions = {}) {
    this.#send = send
    this.#options = {
      version: '003.008',
      format: formatOfNovnc,
      encodings: Object.values(rfb),
      follows: true,
      ...options,
    }
    this.#run().catch((error: Error) => this.end(error))
  }

  receive(bytes: Buffer): void {
    this.#isBetweenMessages = false
    this.#reader.push(bytes)
  }

  pixel(x: number, y: number): number {
    return this.rgb.readUIntBE((y * this.width + x) * 3, 3)
  }

  /** Waits until the condition holds after a message. */
  async until<T>(find: (client: this) => T | undefined | false): Promise<T> {
    for (;;) {
      const found = find(this)
      if (found !== undefined && found !== false) return found
      if (this.#failure) throw this.#failure
      await this.#happened.promise
    }
  }

  /** Waits until everything received is processed and ends with a complete message. */
  async settled(): Promise<void> {
    await this.until(() => this.#isBetweenMessages)
    if (this.#failure) throw this.#failure
  }

  setFormat(format: TestFormat): void {
    this.format = format
    this.#send(messages.setFormat(format))
  }

  setEncodings(encodings: readonly number[]): void {
    this.#encodings = encodings
    this.#send(messages.setEncodings(encodings))
  }

  requestUpdate(isIncremental: boolean, area?: Area): void {
    const { width, height } = this
    this.#send(messages.requestUpdate(isIncremental, area ?? { x: 0, y: 0, width, height }))
  }

  key(keysym: number, down: boolean): void {
    this.#send(messages.key(keysym, down))
  }

  pointer(x: number, y: number, buttons = 0): void {
    this.#send(messages.pointer(x, y, buttons))
  }

  /** Announces the text if the server sent caps, else sends it in Latin-1. */
  copy(text: string): void {
    this.#clipboard = text
    const asks = this.clipboardFlags.some((flags) => (flags & clipboardFlag.caps) !== 0)
    this.#send(asks ? messages.clipboard(notify | textFormat) : messages.latin1(text))
  }

  setDesktopSize(size: Size, screens = 1): void {
    this.#send(messages.setDesktopSize(size, screens))
  }

  /** No more data will arrive. */
  end(reason: Error): void {
    this.#failure ??= reason
    this.#wake()
  }

  async #run(): Promise<void> {
    await this.#shakeHands()
    const { format, encodings, follows } = this.#options
    if (format) this.setFormat(format)
    if (encodings.length > 0) this.setEncodings(encodings)
    if (follows) this.requestUpdate(false)
    this.isConnected = true
    for (;;) {
      this.#isBetweenMessages = this.#reader.isEmpty
      this.#wake()
      await this.#readMessage(await this.#reader.u8())
    }
  }

  async #shakeHands(): Promise<void> {
    const { version } = this.#options
    const offered = (await this.#reader.bytes(12)).toString()
    if (offered !== 'RFB 003.008\n') throw new Error(`version ${offered}`)
    this.#send(Buffer.from(`RFB ${version}\n`))
    if (version < '003.007') {
      if ((await this.#reader.u32()) !== 1) throw new Error('it asks for a password')
    } else {
      const types = await this.#reader.bytes(await this.#reader.u8())
      if (!types.equals(Buffer.of(1))) throw new Error('it asks for a password')
      this.#send(Buffer.of(1))
      if (version >= '003.008' && (await this.#reader.u32()) !== 0) throw new Error('it refuses')
    }
    this.#send(Buffer.of(1))
    this.#resize(await this.#reader.u16(), await this.#reader.u16())
    this.format = readFormat(await this.#reader.bytes(16))
    this.name = (await this.#reader.bytes(await this.#reader.u32())).toString()
  }

  async #readMessage(type: number): Promise<void> {
    if (type === 0) return this.#readUpdate()
    if (type !== 3) throw new Error(`a message of type ${type}`)
    await this.#reader.padding(3)
    const length = (await this.#reader.bytes(4)).readInt32BE(0)
    if (length >= 0) {
      this.copied.push((await this.#reader.bytes(length)).toString('latin1'))
    } else {
      this.#requireListed(rfb.extendedClipboard)
      this.#takeClipboard(await this.#reader.bytes(-length))
    }
  }

  #takeClipboard(bytes: Buffer): void {
    const flags = bytes.readUInt32BE(0)
    const rest = bytes.subarray(4)
    this.clipboardFlags.push(flags)
    if ((flags & caps) !== 0) {
      if (rest.length !== 4) throw new Error('caps without the size of its one format')
      return this.#send(messages.clipboard(everything, s32(0)))
    }
    if (flags === (provide | textFormat)) {
      const provided = inflateSync(rest)
      if (provided.readUInt32BE(0) !== provided.length - 4) throw new Error('another length')
      if (provided.at(-1) !== 0) throw new Error('text without its end')
      this.copied.push(provided.toString('utf8', 4, provided.length - 1))
      return
    }
    if (rest.length > 0) throw new Error('more than flags')
    if (flags === (notify | textFormat)) this.#send(messages.clipboard(request | textFormat))
    else if (flags === (request | textFormat)) this.#send(messages.provide(this.#clipboard))
    else if (flags !== notify) throw new Error(`clipboard flags ${flags.toString(16)}`)
  }

  async #readUpdate(): Promise<void> {
    await this.#reader.padding(1)
    const update: ShownRectangle[] = []
    for (let count = await this.#reader.u16(); count > 0; count--) {
      const head = await this.#reader.bytes(12)
      const [x, y, width, height] = [0, 2, 4, 6].map((at) => head.readUInt16BE(at)) as Numbers
      const rectangle = { x, y, width, height, encoding: head.readInt32BE(8) }
      update.push(rectangle)
      await this.#readRectangle(rectangle)
    }
    const hasSize = update.some(({ encoding }) => sizeEncodings.includes(encoding))
    if (hasSize && update.length > 1) throw new Error('a size beside something else')
    this.updates.push(update)
    if (this.#options.follows) this.requestUpdate(true)
  }

  async #readRectangle(rectangle: ShownRectangle): Promise<void> {
    const { x, y, width, height, encoding } = rectangle
    if (encoding !== rfb.raw) this.#requireListed(encoding)
    switch (encoding) {
      case rfb.raw: {
        const bytes = await this.#reader.bytes((width * height * this.format.bits) / 8)
        return this.#draw(rectangle, unpackRgb(bytes, this.format))
      }
      case rfb.tight: {
        const mayBeJpeg = this.#encodings.some((number) => number >= -32 && number <= -23)
        const rgb = await readTight(this.#reader, rectangle, this.format, { mayBeJpeg })
        return this.#draw(rectangle, rgb)
      }
      case rfb.desktopSize:
        this.sizes.push({ width, height, reason: 0, status: 0 })
        return this.#resize(width, height)
      case rfb.extendedDesktopSize: {
        const layout = await this.#reader.bytes(4 + 16)
        const isWhole = layout.readUInt16BE(12) === width && layout.readUInt16BE(14) === height
        if (layout[0] !== 1 || !isWhole) throw new Error('a layout that is not one whole screen')
        this.sizes.push({ width, height, reason: x, status: y })
        if (y === 0) this.#resize(width, height)
        return
      }
      default:
        this.cursor = { ...rectangle, rgba: await readCursor(this.#reader, rectangle, this.format) }
    }
  }

  #draw({ x, y, width, height }: Area, rgb: Buffer): void {
    if (x + width > this.width || y + height > this.height) throw new Error('beyond the screen')
    for (let row = 0; row < height; row++) {
      const to = ((y + row) * this.width + x) * 3
      rgb.copy(this.rgb, to, row * width * 3, (row + 1) * width * 3)
    }
  }

  #resize(width: number, height: number): void {
    if (width === this.width && height === this.height) return
    this.width = width
    this.height = height
    this.rgb = Buffer.alloc(width * height * 3)
  }

  #requireListed(encoding: number): void {
    if (!this.#encodings.includes(encoding)) throw new Error(`encoding ${encoding} was not listed`)
  }

  #wake(): void {
    this.#happened.resolve()
    this.#happened = Promise.withResolvers()
  }
}

/** An RFB client on the binary frames of a screen channel. */
export function rfbOverWebSocket(socket: WebSocket, options: RfbClientOptions = {}): RfbClient {
  const client = new RfbClient((bytes) => socket.send(bytes, { binary: true }), options)
  socket.on('message', (data: Buffer, isBinary) => {
    if (isBinary) client.receive(data)
  })
  socket.once('close', (code) => client.end(new Error(`the connection has closed: ${code}`)))
  return client
}

type Numbers = [number, number, number, number]
const sizeEncodings: readonly number[] = [rfb.desktopSize, rfb.extendedDesktopSize]

const { text: textFormat, caps, request, peek, notify, provide } = clipboardFlag
const everything = caps | request | peek | notify | provide | textFormat
