import type { Machine } from '../machine.ts'
import type { CallOptions } from '../options.ts'
import { decodePng, encodePng, scaleDown } from './png.ts'

export type Point = { readonly x: number; readonly y: number }
export type Size = { readonly width: number; readonly height: number }

/** A display as shown to a model: all of it, possibly scaled down. */
export type View = Size & { readonly display: Size }

/** Vendors scale larger images down themselves, which invalidates the model's coordinates. */
export type ViewLimits = { readonly longestEdge: number; readonly pixels: number }

/** The largest view of a display within the limits. Keeps the aspect ratio and never scales up. */
export function viewOf(display: Size, { longestEdge, pixels }: ViewLimits): View {
  const { width, height } = display
  const scale = Math.min(
    1,
    longestEdge / Math.max(width, height),
    Math.sqrt(pixels / (width * height)),
  )
  if (scale === 1) return { width, height, display: { width, height } }
  return {
    width: Math.max(1, Math.floor(width * scale)),
    height: Math.max(1, Math.floor(height * scale)),
    display: { width, height },
  }
}

/** The display pixel at the center of the area that a view pixel covers. */
export function toDisplay(view: View, { x, y }: Point): Point {
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

/** Takes a screenshot within the limits, as base64 PNG. */
export async function screenshotOf(
  machine: Machine,
  limits: ViewLimits,
  options: CallOptions = {},
): Promise<{ readonly base64: string; readonly view: View }> {
  const { bytes, width, height } = await machine.screenshot({ format: 'png', ...options })
  const view = viewOf({ width, height }, limits)
  if (view.width === width && view.height === height) return { base64: base64(bytes), view }
  const scaled = scaleDown(await decodePng(bytes), view.width, view.height)
  return { base64: base64(await encodePng(scaled)), view }
}

export function base64(bytes: Uint8Array): string {
  let text = ''
  // In chunks, because the number of call arguments is limited.
  for (let at = 0; at < bytes.length; at += 8192) {
    text += String.fromCharCode(...bytes.subarray(at, at + 8192))
  }
  return btoa(text)
}

/** Maps the center of a pixel. Coordinates past the edge map to the last pixel. */
function map(value: number, from: number, to: number): number {
  const inside = Math.min(from - 1, Math.max(0, value))
  return Math.min(to - 1, Math.floor(((inside + 0.5) * to) / from))
}
