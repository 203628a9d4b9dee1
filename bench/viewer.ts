import { once } from 'node:events'
import { connect } from 'node:net'
import { createInflate } from 'node:zlib'
import { channels } from '@computer/contract'
import { WebSocket } from 'ws'
import { ByteReader } from '../server/test/byte-reader.ts'
import { formatOfNovnc } from '../server/test/rfb-format.ts'
import { messages, rfb } from '../server/test/rfb-messages.ts'
import type { ApiClient, Lease } from '../e2e/harness/api.ts'

export type ViewerOptions = {
  /** Accepts no compression, so that the server sends as much as possible. */
  readonly isRaw?: boolean
  /** Limits how fast the viewer reads. */
  readonly bytesPerSecond?: number
}

/**
 * An RFB viewer for any server, which keeps the exact picture: it requests no quality level, so no JPEG is
 * sent. The client of the tests (server/test/rfb-client.ts) accepts only what our server may send.
 */
export class Viewer implements Disposable {
  width = 0
  height = 0
  /** Three bytes a pixel. */
  rgb = Buffer.alloc(0)
  /** Called after each update. */
  onUpdate: () => void = () => {}
  readonly #wire: Wire
  readonly #reader = new ByteReader()
  readonly #streams: (ReturnType<typeof openStream> | undefined)[] = []
  #failure: Error | undefined
  #changed = Promise.withResolvers<void>()

  constructor(wire: Wire, { isRaw = false }: ViewerOptions = {}) {
    this.#wire = wire
    const encodings = isRaw ? [rfb.raw, rfb.cursor] : [rfb.tight, rfb.raw, rfb.cursor]
    this.#run(encodings).catch((error: Error) => this.fail(error))
  }

  receive(bytes: Buffer): void {
    this.#reader.push(bytes)
  }

  fail(error: Error): void {
    this.#failure ??= error
    this.#wake()
  }

  pixel(x: number, y: number): number {
    const at = (y * this.width + x) * 3
    return at + 3 <= this.rgb.length ? this.rgb.readUIntBE(at, 3) : -1
  }

  pointer(x: number, y: number, buttons: number): void {
    this.#wire.send(messages.pointer(x, y, buttons))
  }

  /** Waits until the condition holds for the viewer. */
  async until(what: string, holds: (viewer: this) => boolean, boundMs = 30_000): Promise<void> {
    const late = new Error(`a viewer waited ${boundMs} ms for ${what}`)
    const timer = setTimeout(() => this.fail(late), boundMs)
    try {
      while (!holds(this)) {
        if (this.#failure) throw this.#failure
        await this.#changed.promise
      }
    } finally {
      clearTimeout(timer)
    }
  }

  [Symbol.dispose](): void {
    this.#wire.end()
  }

  async #run(encodings: readonly number[]): Promise<void> {
    const reader = this.#reader
    await reader.bytes(12)
    this.#wire.send(Buffer.from('RFB 003.008\n'))
    await reader.bytes(await reader.u8())
    this.#wire.send(Buffer.of(1))
    if ((await reader.u32()) !== 0) throw new Error('the server refused the viewer')
    this.#wire.send(Buffer.of(1))
    this.width = await reader.u16()
    this.height = await reader.u16()
    await reader.bytes(16)
    await reader.bytes(await reader.u32())
    this.rgb = Buffer.alloc(this.width * this.height * 3)
    this.#wire.send(messages.setFormat(formatOfNovnc))
    this.#wire.send(messages.setEncodings(encodings))
    this.#request(false)
    for (;;) await this.#readMessage(await reader.u8())
  }

  async #readMessage(type: number): Promise<void> {
    if (type === 2) return
    if (type === 3) {
      await this.#reader.bytes(3)
      return void (await this.#reader.bytes(await this.#reader.u32()))
    }
    if (type !== 0) throw new Error(`unexpected message type ${type}`)
    await this.#reader.bytes(1)
    for (let count = await this.#reader.u16(); count > 0; count--) {
      const head = await this.#reader.bytes(12)
      const [x, y, width, height] = [0, 2, 4, 6].map((at) => head.readUInt16BE(at)) as Numbers
      await this.#readRectangle({ x, y, width, height }, head.readInt32BE(8))
    }
    this.#request(true)
    this.onUpdate()
    this.#wake()
  }

  async #readRectangle(area: Area, encoding: number): Promise<void> {
    const { width, height } = area
    if (encoding === rfb.tight) return this.#draw(area, await this.#readTight(width, height))
    const pixels = await this.#reader.bytes(width * height * 4)
    if (encoding === rfb.cursor) {
      return void (await this.#reader.bytes(Math.ceil(width / 8) * height))
    }
    if (encoding !== rfb.raw) throw new Error(`unexpected encoding ${encoding}`)
    const rgb = Buffer.allocUnsafe(width * height * 3)
    for (let from = 0, to = 0; to < rgb.length; from += 4, to += 3) {
      rgb[to] = pixels[from]!
      rgb[to + 1] = pixels[from + 1]!
      rgb[to + 2] = pixels[from + 2]!
    }
    this.#draw(area, rgb)
  }

  async #readTight(width: number, height: number): Promise<Buffer> {
    const control = await this.#reader.u8()
    for (let stream = 0; stream < 4; stream++) {
      if ((control & (1 << stream)) !== 0) this.#streams[stream] = undefined
    }
    const kind = control >> 4
    if (kind === 8) return Buffer.alloc(width * height * 3, await this.#reader.bytes(3))
    if (kind > 7) throw new Error(`unexpected compression ${control}`)
    const filter = (kind & 4) === 0 ? 0 : await this.#reader.u8()
    if (filter === 0) return this.#readDeflated(kind & 3, width * height * 3)
    if (filter !== 1) throw new Error(`unexpected filter ${filter}`)
    const count = (await this.#reader.u8()) + 1
    const colours = await this.#reader.bytes(count * 3)
    const rowBytes = count === 2 ? Math.ceil(width / 8) : width
    const indices = await this.#readDeflated(kind & 3, rowBytes * height)
    const rgb = Buffer.allocUnsafe(width * height * 3)
    for (let y = 0, to = 0; y < height; y++) {
      for (let x = 0; x < width; x++, to += 3) {
        const byte = indices[y * rowBytes + (count === 2 ? x >> 3 : x)]!
        const from = (count === 2 ? (byte >> (7 - (x & 7))) & 1 : byte) * 3
        rgb[to] = colours[from]!
        rgb[to + 1] = colours[from + 1]!
        rgb[to + 2] = colours[from + 2]!
      }
    }
    return rgb
  }

  /** Reads from a zlib stream, which continues across rectangles until the server resets it. */
  async #readDeflated(stream: number, bytes: number): Promise<Buffer> {
    if (bytes < 12) return this.#reader.bytes(bytes)
    let length = 0
    for (const shift of [0, 7, 14]) {
      const byte = await this.#reader.u8()
      length |= (shift === 14 ? byte : byte & 127) << shift
      if (byte < 128) break
    }
    const { inflate, inflated } = (this.#streams[stream] ??= openStream())
    inflate.write(await this.#reader.bytes(length))
    return inflated.bytes(bytes)
  }

  #draw({ x, y, width, height }: Area, rgb: Buffer): void {
    for (let row = 0; row < height; row++) {
      const to = ((y + row) * this.width + x) * 3
      rgb.copy(this.rgb, to, row * width * 3, (row + 1) * width * 3)
    }
  }

  #request(isIncremental: boolean): void {
    const { width, height } = this
    this.#wire.send(messages.requestUpdate(isIncremental, { x: 0, y: 0, width, height }))
  }

  #wake(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }
}

function openStream() {
  const inflated = new ByteReader()
  const inflate = createInflate().on('data', (bytes: Buffer) => inflated.push(bytes))
  return { inflate, inflated }
}

/** Views a machine through our gateway, as the holder of the input lease if one is given. */
export async function viewScreen(
  api: ApiClient,
  machineId: string,
  options: ViewerOptions & { readonly lease?: Lease } = {},
): Promise<Viewer> {
  const { gateway_url } = await api.ok<{ gateway_url: string }>('GET', '/v1/auth/me')
  const path = channels.screen.path.replace('{machine_id}', machineId)
  const query = options.lease ? `?session_id=${options.lease.sessionId}` : ''
  const headers = { authorization: `Bearer ${api.key}` }
  const { socket, viewer } = viewWebSocket(`${gateway_url}${path}${query}`, options, headers)
  await once(socket, 'open')
  const { lease } = options
  if (lease) socket.send(JSON.stringify({ type: 'input_fence', fence: lease.fence }))
  return viewer
}

/** Views an RFB server behind websockify. */
export async function viewWebsockify(port: number, options: ViewerOptions = {}): Promise<Viewer> {
  const { socket, viewer } = viewWebSocket(`ws://127.0.0.1:${port}`, options)
  await once(socket, 'open')
  return viewer
}

/** Views an RFB server over plain TCP. */
export async function viewTcp(port: number, options: ViewerOptions = {}): Promise<Viewer> {
  const socket = connect(port, '127.0.0.1').setNoDelay(true)
  await once(socket, 'connect')
  const wire = { send: (bytes: Buffer) => void socket.write(bytes), end: () => socket.destroy() }
  const viewer = new Viewer(wire, options)
  socket.on('data', (bytes) => viewer.receive(bytes))
  socket.once('close', () => viewer.fail(new Error('the server closed the connection')))
  socket.on('error', (error) => viewer.fail(error))
  return viewer
}

type Wire = { send(bytes: Buffer): void; end(): void }
type Area = {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}
type Numbers = [number, number, number, number]

function viewWebSocket(url: string, options: ViewerOptions, headers = {}) {
  const socket = new WebSocket(url, { headers, perMessageDeflate: false })
  const wire = {
    send: (bytes: Buffer) => socket.send(bytes, { binary: true }),
    end: () => socket.terminate(),
  }
  const viewer = new Viewer(wire, options)
  const { bytesPerSecond } = options
  socket.on('message', (data: Buffer, isBinary) => {
    if (!isBinary) return
    viewer.receive(data)
    if (bytesPerSecond === undefined) return
    socket.pause()
    setTimeout(() => socket.resume(), (data.length / bytesPerSecond) * 1000)
  })
  socket.once('close', (code) => viewer.fail(new Error(`the connection closed with ${code}`)))
  socket.on('error', (error) => viewer.fail(error))
  return { socket, viewer }
}
