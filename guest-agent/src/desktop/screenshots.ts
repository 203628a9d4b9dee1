import type { ScreenshotFormat } from '@computer/contract'
import { invalidRequest } from '../errors.ts'
import { SerialQueue } from '../serial-queue.ts'
import { extensionRequest, getImage, type Rectangle } from '../x11/requests.ts'
import type { XSession } from '../x11/session.ts'
import { loadSharp } from './image-library.ts'
import { swapToRgb } from './pixels.ts'

type Size = { readonly width: number; readonly height: number }
type Screenshot = { readonly bytes: Buffer; readonly image: Size; readonly display: Size }

export type ScreenshotOptions = {
  readonly format: ScreenshotFormat
  readonly quality: number
  /** Default: the whole display. */
  readonly region?: Rectangle | undefined
  readonly scale?: number | undefined
  /** In pixels. */
  readonly maxWidth?: number | undefined
}

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

  /** Refuses a region that is not inside the display. */
  take(options: ScreenshotOptions): Promise<Screenshot> {
    return this.#queue.run(() => this.#take(options))
  }

  async #take(options: ScreenshotOptions): Promise<Screenshot> {
    const frame = await this.#grab()
    const { width, height } = frame
    const region = options.region ?? { x: 0, y: 0, width, height }
    requireInside(region, frame)
    const picture = { region, size: sizeOf(region, options) }
    const { format, quality } = options
    const key = JSON.stringify([picture, format, format === 'png' ? null : quality])
    const cached = this.#encoded.get(key)
    const bytes = cached ?? (await encode(frame, picture, { format, quality }))
    if (!cached) this.#keep(key, bytes)
    return { bytes, image: picture.size, display: { width, height } }
  }

  /** Of the images of one frame the last few are kept, as callers choose among many. */
  #keep(key: string, bytes: Buffer): void {
    const [oldest] = this.#encoded.keys()
    if (this.#encoded.size >= maxEncoded && oldest !== undefined) this.#encoded.delete(oldest)
    this.#encoded.set(key, bytes)
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

const maxEncoded = 6

/** A part of the frame, and the size of the image that shows it. */
type Picture = { readonly region: Rectangle; readonly size: Size }

export function requireInside({ x, y, width, height }: Rectangle, display: Size): void {
  if (x + width <= display.width && y + height <= display.height) return
  const region = [x, y, width, height].join()
  throw invalidRequest(
    `the region ${region} (x,y,width,height) reaches beyond the display, which is ` +
      `${display.width}x${display.height}`,
  )
}

function sizeOf({ width, height }: Rectangle, { scale, maxWidth }: ScreenshotOptions): Size {
  const factor = Math.min(scale ?? 1, (maxWidth ?? width) / width)
  // Rounded first: half of a third of a pixel must not make 427 of 428.
  const scaled = (length: number) => Math.max(1, Math.floor(Number((length * factor).toFixed(6))))
  return { width: scaled(width), height: scaled(height) }
}

/** Fast settings: better compression costs far more time than it saves in bytes (goals S8, S9). */
async function encode(
  { width, height, rgb }: Frame,
  { region, size }: Picture,
  { format, quality }: Pick<ScreenshotOptions, 'format' | 'quality'>,
): Promise<Buffer> {
  const { default: sharp } = await loadSharp()
  const image = sharp(rgb, { raw: { width, height, channels: 3 } })
  if (region.width < width || region.height < height) {
    image.extract({ left: region.x, top: region.y, width: region.width, height: region.height })
  }
  if (size.width < region.width || size.height < region.height) {
    image.resize(size.width, size.height, { fit: 'fill' })
  }
  switch (format) {
    case 'jpeg':
      return image.jpeg({ quality, optimiseCoding: false }).toBuffer()
    case 'png':
      return image.png({ compressionLevel: 2 }).toBuffer()
    case 'webp':
      return image.webp({ quality, effort: 0 }).toBuffer()
  }
}
