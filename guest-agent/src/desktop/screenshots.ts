import type { ScreenshotFormat } from '@computer/contract'
import { SerialQueue } from '../serial-queue.ts'
import { extensionRequest, getImage } from '../x11/requests.ts'
import type { XSession } from '../x11/session.ts'
import { loadSharp } from './image-library.ts'
import { swapToRgb } from './pixels.ts'

type Screenshot = { readonly bytes: Buffer; readonly width: number; readonly height: number }

/**
 * Screenshots, taken one at a time. The X server reports (DAMAGE) whether anything was drawn since
 * the last one: if not, its pixels and encoded images are used again. The frame's buffers are
 * reused in any case.
 */
export class Screenshots {
  readonly #session: XSession
  readonly #queue = new SerialQueue()
  #isDamaged = true
  #damageId = 0
  #watching = false
  #frame: Frame | undefined
  readonly #encoded = new Map<string, Buffer>()

  constructor(session: XSession) {
    this.#session = session
  }

  take(format: ScreenshotFormat, quality: number): Promise<Screenshot> {
    return this.#queue.run(() => this.#take(format, quality))
  }

  async #take(format: ScreenshotFormat, quality: number): Promise<Screenshot> {
    const frame = await this.#grab()
    const { width, height } = frame
    const key = format === 'png' ? format : `${format} ${quality}`
    const cached = this.#encoded.get(key)
    if (cached) return { bytes: cached, width, height }
    const bytes = await encode(frame, format, quality)
    this.#encoded.set(key, bytes)
    return { bytes, width, height }
  }

  async #grab(): Promise<Frame> {
    const { x, root, size } = this.#session
    await this.#watch()
    for (let attempt = 0; ; attempt++) {
      const { width, height } = size
      if (!this.#isDamaged && this.#frame?.width === width && this.#frame.height === height) {
        return this.#frame
      }
      const frame = this.#frameOf(width, height)
      // Cleared before the grab, so that anything drawn during it is reported again.
      this.#isDamaged = false
      this.#encoded.clear()
      this.#subtractDamage()
      try {
        const area = { x: 0, y: 0, width, height }
        const reply = await x.ask(getImage(root, area), { into: frame.reply })
        if (size.width !== width || size.height !== height) continue
        swapToRgb(reply, replyHeaderBytes, frame.rgb)
        return frame
      } catch (error) {
        this.#isDamaged = true
        // The screen may have shrunk while the request was on its way.
        if (attempt > 2) throw error
        await x.sync()
      }
    }
  }

  /** Resolves after a round trip, which brings all damage events of what was drawn before. */
  async #watch(): Promise<void> {
    const { x, root, damage } = this.#session
    if (!this.#watching) {
      this.#watching = true
      x.listen(damage.event, () => (this.#isDamaged = true))
      const nonEmpty = 3
      this.#damageId = x.newId()
      x.send(extensionRequest(damage.opcode, 1, [this.#damageId, root, nonEmpty]))
    }
    await x.sync()
  }

  #subtractDamage(): void {
    const { x, damage } = this.#session
    x.send(extensionRequest(damage.opcode, 3, [this.#damageId, 0, 0]))
  }

  #frameOf(width: number, height: number): Frame {
    if (this.#frame?.width !== width || this.#frame.height !== height) {
      const pixels = width * height
      this.#frame = {
        width,
        height,
        reply: Buffer.allocUnsafeSlow(replyHeaderBytes + pixels * 4),
        rgb: Buffer.allocUnsafeSlow(pixels * 3),
      }
    }
    return this.#frame
  }
}

type Frame = {
  readonly width: number
  readonly height: number
  readonly reply: Buffer
  readonly rgb: Buffer
}

const replyHeaderBytes = 32

/** Fast settings: better compression costs far more time than it saves in bytes (goals S8, S9). */
async function encode(frame: Frame, format: ScreenshotFormat, quality: number): Promise<Buffer> {
  const { default: sharp } = await loadSharp()
  const { width, height, rgb } = frame
  const image = sharp(rgb, { raw: { width, height, channels: 3 } })
  switch (format) {
    case 'jpeg':
      return image.jpeg({ quality, optimiseCoding: false }).toBuffer()
    case 'png':
      return image.png({ compressionLevel: 2 }).toBuffer()
    case 'webp':
      return image.webp({ quality, effort: 0 }).toBuffer()
  }
}
