import type { ScreenFromGuest } from '@computer/contract/guest-streams'
import { encoding, type CursorForm } from './encodings.ts'
import type { PackPixels } from './pixel-format.ts'
import { rectangleHead } from './rectangles.ts'
import type { Geometry } from './tile.ts'

/** The image of the pointer, as the agent sends it. */
export type Cursor = Extract<ScreenFromGuest, { type: 'cursor' }>

const maxCursorSide = 1024

/** The agent is not trusted. */
export function isValidCursor({ x, y, width, height, pixels }: Cursor): boolean {
  const isInRange = (value: number) => value >= 0 && value <= maxCursorSide
  const bytes = Buffer.from(pixels, 'base64').length
  return [x, y, width, height].every(isInRange) && bytes === width * height * 4
}

export function cursorRectangle(form: CursorForm, cursor: Cursor, pack: PackPixels): Buffer[] {
  const rgba = Buffer.from(cursor.pixels, 'base64')
  switch (form) {
    case 'alpha': {
      const inRaw = Buffer.alloc(4)
      return [rectangleHead(cursor, encoding.cursorWithAlpha), inRaw, multiplyAlpha(rgba)]
    }
    case 'vmware': {
      const isRgba = 1
      return [rectangleHead(cursor, encoding.vmwareCursor), Buffer.of(isRgba, 0), rgba]
    }
    case 'masked':
      return [rectangleHead(cursor, encoding.cursor), pack(rgba, 4), opaqueMask(rgba, cursor)]
  }
}

function multiplyAlpha(rgba: Buffer): Buffer {
  const multiplied = Buffer.from(rgba)
  for (let at = 0; at < rgba.length; at++) {
    const alpha = rgba[at | 3]!
    if ((at & 3) !== 3) multiplied[at] = Math.round((rgba[at]! * alpha) / 255)
  }
  return multiplied
}

/** One bit per pixel; each row starts a new byte. */
function opaqueMask(rgba: Buffer, { width, height }: Geometry): Buffer {
  const rowBytes = Math.ceil(width / 8)
  const mask = Buffer.alloc(rowBytes * height)
  for (let y = 0, at = 3; y < height; y++) {
    for (let x = 0; x < width; x++, at += 4) {
      if (rgba[at]! >= 128) mask[y * rowBytes + (x >> 3)]! |= 0x80 >> (x & 7)
    }
  }
  return mask
}
