import { toBase64 } from '../base64.ts'
import type { ScreenshotOptions } from '../display.ts'
import type { Machine } from '../machine.ts'
import type { CallOptions, InputOptions } from '../options.ts'
import { ScreenGuard } from '../screen-guard.ts'
import { ModelMistake, type Point } from './model.ts'

export type Size = { readonly width: number; readonly height: number }

/** A display as shown to a model: all of it, possibly scaled down. */
export type View = Size & { readonly display: Size }

/** Vendors scale larger images down themselves, which invalidates the model's coordinates. */
export type ViewLimits = { readonly longestEdge: number; readonly pixels: number }

/**
 * The largest view of a display within the limits. Keeps the aspect ratio and never scales up. A screenshot
 * with the view's width as `maxWidth` has the same size: the agent rounds as this does.
 */
export function viewOf(display: Size, { longestEdge, pixels }: ViewLimits): View {
  const { width, height } = display
  const longest = longestEdge / Math.max(width, height)
  const scale = Math.min(1, longest, Math.sqrt(pixels / (width * height)))
  const scaledWidth = scale === 1 ? width : Math.max(1, Math.floor(width * scale))
  const exact = (height * scaledWidth) / width
  const scaledHeight = Math.max(1, Math.floor(Number(exact.toFixed(6))))
  return { width: scaledWidth, height: scaledHeight, display: { width, height } }
}

/** The display pixel at the center of the area that a view pixel covers. Refuses points outside. */
export function toDisplay(view: View, { x, y }: Point): Point {
  const isInside = x >= 0 && y >= 0 && x < view.width && y < view.height
  if (!isInside) {
    const size = `${view.width}x${view.height}`
    throw new ModelMistake(`${x},${y} is outside the screenshot, which is ${size} pixels`)
  }
  return {
    x: map(x, view.width, view.display.width),
    y: map(y, view.height, view.display.height),
  }
}

/** The view pixel that covers a display pixel. Inverse of `toDisplay`. */
export function fromDisplay(view: View, { x, y }: Point): Point {
  return {
    x: map(x, view.display.width, view.width),
    y: map(y, view.display.height, view.height),
  }
}

/** How an adapter takes its screenshots. */
export type ViewOptions = {
  /** The largest image shown to the model. */
  readonly limits?: ViewLimits | undefined
  /**
   * Take a screenshot once nothing has moved for this many milliseconds, so that it shows the effect of
   * the action before it. Default: 200.
   */
  readonly settleMs?: number | undefined
  /** The longest wait for that, in milliseconds. Default: 3000. */
  readonly settleTimeoutMs?: number | undefined
  /**
   * Refuse an action if the screen has changed where it would act since the model's last picture: nothing is done,
   * and the model gets a new picture. Default: true.
   */
  readonly guard?: boolean | undefined
}

const maxTries = 5

/** Takes screenshots within the limits, as base64 PNG, once the screen has settled. */
export class Camera {
  readonly #machine: Machine
  readonly #limits: ViewLimits
  readonly #timing: Pick<ScreenshotOptions, 'settleMs' | 'timeoutMs'>
  /** The view of the last screenshot; coordinates of the model refer to it. */
  view: View
  readonly #guard: ScreenGuard | undefined

  constructor(machine: Machine, display: Size, options: ViewOptions & { limits: ViewLimits }) {
    this.#machine = machine
    this.#limits = options.limits
    const { settleMs = 200, settleTimeoutMs = 3000, guard = true } = options
    this.#guard = guard ? new ScreenGuard() : undefined
    this.#timing = settleMs > 0 ? { settleMs, timeoutMs: settleTimeoutMs } : {}
    this.view = viewOf(display, this.#limits)
  }

  /** The options of an input that acts on the last picture, at a point or where the pointer is. */
  guard(options: CallOptions, point?: Point): InputOptions {
    return { ...options, ...this.#guard?.options(point) }
  }

  async takeAll(options: CallOptions): Promise<string> {
    let { display } = this.view
    for (let tries = 1; ; tries++) {
      const expected = viewOf(display, this.#limits)
      const maxWidth = expected.width
      const shot = await this.#machine.screenshot({ maxWidth, ...this.#timing, ...options })
      const { width, height } = shot
      this.view = { width, height, display: shot.display }
      this.#guard?.show(shot)
      const fits = width <= expected.width && height <= expected.height
      if (fits || tries === maxTries) return toBase64(shot.bytes)
      // The display has been resized since.
      display = shot.display
    }
  }

  /** A part of the display at full resolution, or as much of it as the limits allow. */
  async takePart(from: Point, to: Point, options: CallOptions): Promise<string> {
    const [start, end] = [toDisplay(this.view, from), toDisplay(this.view, to)]
    const [x, y] = [Math.min(start.x, end.x), Math.min(start.y, end.y)]
    const width = Math.abs(start.x - end.x) + 1
    const height = Math.abs(start.y - end.y) + 1
    const { width: maxWidth } = viewOf({ width, height }, this.#limits)
    const part = { region: { x, y, width, height }, maxWidth }
    const shot = await this.#machine.screenshot({ ...part, ...this.#timing, ...options })
    return toBase64(shot.bytes)
  }
}

/** Maps the center of a pixel. */
function map(value: number, from: number, to: number): number {
  return Math.min(to - 1, Math.floor(((value + 0.5) * to) / from))
}
