import { encodeControl, FrameReader } from '@computer/contract/guest-frames'
import {
  frameKind,
  limitsFromGuest,
  ScreenFromGuest,
  type GuestInputEvent,
  type ScreenToGuest,
} from '@computer/contract/guest-streams'
import { duplexPair, type Duplex } from 'node:stream'
import { constants, inflateSync } from 'node:zlib'
import sharp from 'sharp'

type MessageOf<Type> = Extract<ScreenFromGuest, { type: Type }>

/** A server process at the other end of the stream: draws the tiles and acknowledges frames. */
export class ScreenViewer implements Disposable {
  readonly stream: Duplex
  readonly messages: ScreenFromGuest[] = []
  /** The number of tiles and the encodings of each frame received. */
  readonly frames: { readonly tiles: number; readonly codecs: ReadonlySet<Codec> }[] = []
  width = 0
  height = 0
  rgb = Buffer.alloc(0)
  #tiles: Buffer[] = []
  #handled: Promise<void> = Promise.resolve()
  #failure: unknown
  #onMessage: () => void = () => {}

  /** `open` is given the agent's end. */
  constructor(open: (stream: Duplex) => void, options: { readonly isDeaf?: boolean } = {}) {
    const [ours, theirs] = duplexPair()
    this.stream = ours
    open(theirs)
    if (options.isDeaf) return
    const reader = new FrameReader(limitsFromGuest)
    ours.on('data', (chunk: Buffer) => {
      const frames = [...reader.push(chunk)]
      this.#handled = this.#handled.then(async () => {
        for (const frame of frames) await this.#handle(frame)
        this.#onMessage()
      })
      this.#handled.catch((error: unknown) => {
        this.#failure = error
        this.#onMessage()
      })
    })
  }

  send(message: ScreenToGuest): void {
    this.stream.write(encodeControl(message))
  }

  input(fence: number, event: GuestInputEvent, viewer = 1): void {
    this.send({ type: 'input', viewer, fence, event })
  }

  pixel(x: number, y: number): number {
    return this.rgb.readUIntBE((y * this.width + x) * 3, 3)
  }

  last<Type extends ScreenFromGuest['type']>(type: Type): MessageOf<Type> | undefined {
    return this.messages.findLast((message) => message.type === type) as MessageOf<Type> | undefined
  }

  /** Checks again after every message. */
  async until(holds: () => boolean): Promise<void> {
    for (;;) {
      if (this.#failure) throw this.#failure as Error
      if (holds()) return
      await new Promise<void>((resolve) => (this.#onMessage = resolve))
    }
  }

  [Symbol.dispose](): void {
    // Destroying one end of a pair does not notify the other.
    this.stream.end()
  }

  async #handle({ kind, payload }: { kind: number; payload: Buffer }): Promise<void> {
    if (kind === frameKind.payload) {
      this.#tiles.push(payload)
      return
    }
    const message = ScreenFromGuest.parse(JSON.parse(payload.toString('utf8')))
    if (message.type === 'geometry') {
      this.width = message.width
      this.height = message.height
      this.rgb = Buffer.alloc(message.width * message.height * 3)
    }
    if (message.type === 'frame') {
      const codecs = new Set<Codec>()
      for (const tile of this.#tiles) codecs.add(await this.#draw(tile))
      this.frames.push({ tiles: this.#tiles.length, codecs })
      this.#tiles = []
      this.send({ type: 'taken', frame: message.frame })
    }
    this.messages.push(message)
  }

  async #draw(tile: Buffer): Promise<Codec> {
    const [x, y, width, height] = [0, 2, 4, 6].map((at) => tile.readUInt16BE(at)) as Area
    if (x + width > this.width || y + height > this.height)
      throw new Error('a tile beyond the screen')
    const { codec, rgb } = await decodeTight(tile.subarray(8), width, height)
    if (rgb.length !== width * height * 3) throw new Error(`${rgb.length} bytes of pixels`)
    for (let row = 0; row < height; row++) {
      const from = row * width * 3
      rgb.copy(this.rgb, ((y + row) * this.width + x) * 3, from, from + width * 3)
    }
    return codec
  }
}

type Area = [x: number, y: number, width: number, height: number]
type Codec = 'fill' | 'jpeg' | 'palette' | 'whole'

/** Independent of the agent's encoder, by the RFB specification; every byte must be used. */
async function decodeTight(
  body: Buffer,
  width: number,
  height: number,
): Promise<{ codec: Codec; rgb: Buffer }> {
  const control = body[0]!
  if (control === 0x80) {
    if (body.length !== 4) throw new Error('a fill has one colour')
    return { codec: 'fill', rgb: Buffer.alloc(width * height * 3, body.subarray(1)) }
  }
  if (control === 0x90) {
    const jpeg = sharp(takeCompact(body.subarray(1)))
    return { codec: 'jpeg', rgb: await jpeg.removeAlpha().raw().toBuffer() }
  }
  if (control === 0x01) {
    return { codec: 'whole', rgb: inflate(body.subarray(1), width * height * 3) }
  }
  if (control !== 0x41 || body[1] !== 1) throw new Error(`control ${control}, filter ${body[1]}`)
  const count = body[2]! + 1
  const data = body.subarray(3 + count * 3)
  const rowBytes = count === 2 ? Math.ceil(width / 8) : width
  const indices = inflate(data, rowBytes * height)
  const rgb = Buffer.alloc(width * height * 3)
  for (let i = 0; i < width * height; i++) {
    const [x, y] = [i % width, Math.floor(i / width)]
    const index =
      count === 2
        ? (indices[y * rowBytes + (x >> 3)]! >> (7 - (x & 7))) & 1
        : indices[y * rowBytes + x]!
    if (index >= count) throw new Error('an index beyond the palette')
    body.copy(rgb, i * 3, 3 + index * 3, 6 + index * 3)
  }
  return { codec: 'palette', rgb }
}

/** The deflate stream is flushed, not ended. */
function inflate(data: Buffer, length: number): Buffer {
  if (length < 12) return data
  const bytes = inflateSync(takeCompact(data), { finishFlush: constants.Z_SYNC_FLUSH })
  if (bytes.length !== length) throw new Error(`${bytes.length} bytes instead of ${length}`)
  return bytes
}

function takeCompact(data: Buffer): Buffer {
  let [length, at] = [0, 0]
  for (let shift = 0; ; shift += 7) {
    const byte = data[at++]!
    length |= (shift === 14 ? byte : byte & 0x7f) << shift
    if (shift === 14 || byte < 0x80) break
  }
  if (data.length !== at + length) throw new Error(`${data.length - at} bytes instead of ${length}`)
  return data.subarray(at)
}
