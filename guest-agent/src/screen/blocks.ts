import type { Rectangle } from '../x11/requests.ts'
import type { Frame } from './frame.ts'

/* Pictures are compared in blocks of 16×16 pixels, from the top left. */

export type Size = { readonly width: number; readonly height: number }

const blockSize = 16

export function countBlocks(screen: Size): number {
  return columnsOf(screen) * Math.ceil(screen.height / blockSize)
}

/** The blocks of a screen that an area touches, and their places among all. */
export function* blocksTouching(screen: Size, { x, y, width, height }: Rectangle) {
  const columns = columnsOf(screen)
  const right = Math.min(x + width, screen.width)
  const bottom = Math.min(y + height, screen.height)
  for (let top = y - (y % blockSize); top < bottom; top += blockSize) {
    for (let left = x - (x % blockSize); left < right; left += blockSize) {
      const block: Rectangle = {
        x: left,
        y: top,
        width: Math.min(blockSize, screen.width - left),
        height: Math.min(blockSize, screen.height - top),
      }
      yield { index: (top / blockSize) * columns + left / blockSize, block }
    }
  }
}

/** The block with a point, and so many around it in each direction, as far as the screen goes. */
export function areaAround(
  screen: Size,
  point: { readonly x: number; readonly y: number },
  blocks: number,
): Rectangle {
  const span = (at: number, end: number) => {
    const first = (Math.floor(at / blockSize) - blocks) * blockSize
    const last = first + (2 * blocks + 1) * blockSize
    return [Math.max(0, first), Math.min(end, last)] as const
  }
  const [left, right] = span(point.x, screen.width)
  const [top, bottom] = span(point.y, screen.height)
  return { x: left, y: top, width: right - left, height: bottom - top }
}

/** FNV-1a over the pixels of an area, whose origin in the frame is x,y. */
export function hashArea({ pixels, width: stride }: Frame, area: Rectangle): number {
  const { x, y, width, height } = area
  let hash = 0x811c9dc5
  for (let row = y; row < y + height; row++) {
    const start = row * stride + x
    for (let i = start; i < start + width; i++) {
      hash = Math.imul(hash ^ (pixels[i]! & 0xffffff), 0x01000193)
    }
  }
  return hash >>> 0
}

function columnsOf({ width }: Size): number {
  return Math.ceil(width / blockSize)
}
