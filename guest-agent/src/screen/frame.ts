import type { Rectangle } from '../x11/requests.ts'

/** The screen as last grabbed: the X server's pixel words, 0xRRGGBB in the lower 24 bits. */
export type Frame = {
  readonly width: number
  readonly height: number
  readonly pixels: Uint32Array
}

export function makeFrame({ width, height }: { width: number; height: number }): Frame {
  return { width, height, pixels: new Uint32Array(width * height) }
}

/** Copies an area from `source`, whose origin is x,y. Returns whether any pixel differed. */
export function updateArea(
  frame: Frame,
  area: Rectangle,
  source: {
    readonly bytes: Buffer
    readonly x: number
    readonly y: number
    readonly width: number
  },
): boolean {
  const { pixels } = frame
  const target = Buffer.from(pixels.buffer, pixels.byteOffset, pixels.byteLength)
  const rowBytes = area.width * 4
  let differs = false
  for (let y = area.y; y < area.y + area.height; y++) {
    const from = ((y - source.y) * source.width + area.x - source.x) * 4
    const to = (y * frame.width + area.x) * 4
    if (source.bytes.compare(target, to, to + rowBytes, from, from + rowBytes) === 0) continue
    source.bytes.copy(target, to, from, from + rowBytes)
    differs = true
  }
  return differs
}

export function readRgb(frame: Frame, area: Rectangle): Buffer {
  const rgb = Buffer.allocUnsafe(area.width * area.height * 3)
  let at = 0
  for (let y = area.y; y < area.y + area.height; y++) {
    const start = y * frame.width + area.x
    for (let i = start; i < start + area.width; i++) {
      const pixel = frame.pixels[i]!
      rgb[at++] = pixel >>> 16
      rgb[at++] = pixel >>> 8
      rgb[at++] = pixel
    }
  }
  return rgb
}
