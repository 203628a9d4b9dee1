import type { ScreenshotFormat } from '@computer/contract'
import { invalidRequest } from '../errors.ts'
import { SerialQueue } from '../serial-queue.ts'
import { differingBlocks, SeenScreens, type GrabbedFrame } from '../screen/seen-screens.ts'
import { extensionRequest, getImage, type Rectangle } from '../x11/requests.ts'
import type { XSession } from '../x11/session.ts'
import { readActiveWindow } from './focus.ts'
import { loadSharp } from './image-library.ts'
import { swapToRgb } from './pixels.ts'

type Size = { readonly width: number; readonly height: number }
type Screenshot = {
  /** Of the screen that it shows (seen-screens.ts). */
  readonly id: string
  readonly bytes: Buffer
  readonly image: Size
  readonly display: Size
}

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
  readonly seen = new SeenScreens()
  readonly #session: XSession
  readonly #queue = new SerialQueue()
  #isDamaged = true
  #damageId = 0
  #watching = false
  #frame: Frame | undefined
  #grabs = 0
  readonly #encoded = new Map<string, Buffer>()

  constructor(session: XSession) {
    this.#session = session
  }

  /** Refuses a region that is not inside the display. */
  take(options: ScreenshotOptions): Promise<Screenshot> {
    return this.#queue.run(() => this.#take(options))
  }

  /**
   * Where the screen differs now from one that was shown. The whole of it, if the display had another size. Throws
   * precondition_failed if that screen is not known.
   */
  async changesSince(id: string, region: Rectangle | undefined): Promise<Rectangle[]> {
    return this.#queue.run(async () => {
      const { frame } = await this.#grab()
      const screen = this.seen.require(id)
      const whole = { x: 0, y: 0, width: frame.width, height: frame.height }
      const hasSize = screen.size.width === frame.width && screen.size.height === frame.height
      return hasSize ? differingBlocks(screen, { ...frame, ...whole }, region ?? whole) : [whole]
    })
  }

  async #take(options: ScreenshotOptions): Promise<Screenshot> {
    const { frame, activeWindow } = await this.#grab()
    const id = this.seen.add(frame, activeWindow)
    const { width, height } = frame
    const region = options.region ?? { x: 0, y: 0, width, height }
    requireInside(region, frame)
    const picture = { region, size: sizeOf(region, options) }
    const { format, quality } = options
    const key = JSON.stringify([picture, format, format === 'png' ? null : quality])
    const cached = this.#encoded.get(key)
    const bytes = cached ?? (await encode(withRgb(frame), picture, { format, quality }))
    if (!cached) this.#keep(key, bytes)
    // After the answer, which is on its way by then.
    setImmediate(() => this.seen.settle())
    return { id, bytes, image: picture.size, display: { width, height } }
  }

  /** Of the images of one frame the last few are kept, as callers choose among many. */
  #keep(key: string, bytes: Buffer): void {
    const [oldest] = this.#encoded.keys()
    if (this.#encoded.size >= maxEncoded && oldest !== undefined) this.#encoded.delete(oldest)
    this.#encoded.set(key, bytes)
  }

  async #grab(): Promise<{ readonly frame: Frame; readonly activeWindow: number }> {
    const { x, root, size } = this.#session
    const activeWindow = await this.#watch()
    for (let attempt = 0; ; attempt++) {
      const { width, height } = size
      if (!this.#isDamaged && this.#frame?.width === width && this.#frame.height === height) {
        return { frame: this.#frame, activeWindow }
      }
      this.seen.settle()
      const frame = this.#frameOf(width, height)
      // Cleared before the grab, so that anything drawn during it is reported again.
      this.#isDamaged = false
      this.#encoded.clear()
      this.#subtractDamage()
      try {
        const area = { x: 0, y: 0, width, height }
        frame.grab = this.#grabs += 1
        await x.ask(getImage(root, area), { into: frame.reply })
        if (size.width !== width || size.height !== height) continue
        return { frame, activeWindow }
      } catch (error) {
        this.#isDamaged = true
        // The screen may have shrunk while the request was on its way.
        if (attempt > 2) throw error
        await x.sync()
      }
    }
  }

  /** Resolves to the active window, after a round trip that brings all damage events of what was drawn before. */
  async #watch(): Promise<number> {
    const { x, root, damage } = this.#session
    if (!this.#watching) {
      this.#watching = true
      x.listen(damage.event, () => (this.#isDamaged = true))
      const nonEmpty = 3
      this.#damageId = x.newId()
      x.send(extensionRequest(damage.opcode, 1, [this.#damageId, root, nonEmpty]))
    }
    return readActiveWindow(this.#session)
  }

  #subtractDamage(): void {
    const { x, damage } = this.#session
    x.send(extensionRequest(damage.opcode, 3, [this.#damageId, 0, 0]))
  }

  #frameOf(width: number, height: number): Frame {
    if (this.#frame?.width !== width || this.#frame.height !== height) {
      const pixels = width * height
      const reply = Buffer.allocUnsafeSlow(replyHeaderBytes + pixels * 4)
      this.#frame = {
        grab: 0,
        width,
        height,
        reply,
        pixels: new Uint32Array(reply.buffer, reply.byteOffset + replyHeaderBytes, pixels),
        rgb: Buffer.allocUnsafeSlow(pixels * 3),
        rgbGrab: 0,
      }
    }
    return this.#frame
  }
}

type Frame = GrabbedFrame & {
  grab: number
  readonly reply: Buffer
  readonly rgb: Buffer
  /** The grab whose pixels `rgb` has. */
  rgbGrab: number
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

function withRgb(frame: Frame): Frame {
  if (frame.rgbGrab !== frame.grab) swapToRgb(frame.reply, replyHeaderBytes, frame.rgb)
  frame.rgbGrab = frame.grab
  return frame
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
