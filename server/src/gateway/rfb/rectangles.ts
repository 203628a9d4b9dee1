import type { ScreenFromGuest } from '@computer/contract/guest-streams'
import { encoding, type CursorForm, type ResizeForm } from './encodings.ts'
import type { PackPixels } from './pixel-format.ts'
import type { Geometry, Rectangle, Tile } from './tile.ts'

/** The pointer's picture, as the agent tells it. */
export type Cursor = Extract<ScreenFromGuest, { type: 'cursor' }>

/** Each rectangle in the pieces it is made of. Few writes, and without a copy of what is large. */
export function sendUpdate(
  rectangles: readonly (readonly Buffer[])[],
  send: (bytes: Buffer) => void,
): void {
  const head = Buffer.alloc(4)
  head.writeUInt16BE(rectangles.length, 2)
  let [small, bytes]: [Buffer[], number] = [[], 0]
  const flush = () => {
    if (bytes > 0) send(Buffer.concat(small, bytes))
    ;[small, bytes] = [[], 0]
  }
  for (const part of [head, ...rectangles.flat()]) {
    if (part.length < largeBytes) {
      small.push(part)
      bytes += part.length
      if (bytes >= largeBytes) flush()
    } else {
      flush()
      send(part)
    }
  }
  flush()
}

const largeBytes = 64 * 1024

export const rectangleHeadBytes = 12

export function tightRectangle(tile: Tile): Buffer[] {
  return [rectangleHead(tile, encoding.tight), tile.body]
}

export function rawRectangle(tile: Tile, packed: Buffer): Buffer[] {
  return [rectangleHead(tile, encoding.raw), packed]
}

export function sizeRectangle(form: ResizeForm, geometry: Geometry): Buffer[] {
  if (form === 'extended') return layoutRectangle(geometry, { reason: ofMachine, status: 0 })
  return [rectangleHead({ x: 0, y: 0, ...geometry }, encoding.desktopSize)]
}

/** How a wish for a size went: refused, not possible, or passed on to who may do it. */
export const sizeStatus = { prohibited: 1, invalid: 3, forwarded: 4 } as const
export type SizeStatus = (typeof sizeStatus)[keyof typeof sizeStatus]

export function wishRectangle(geometry: Geometry, status: SizeStatus): Buffer[] {
  return layoutRectangle(geometry, { reason: ofThisViewer, status })
}

/** Whose doing a size is. */
const ofMachine = 0
const ofThisViewer = 1

function layoutRectangle(
  { width, height }: Geometry,
  { reason, status }: { readonly reason: number; readonly status: number },
): Buffer[] {
  const place = { x: reason, y: status, width, height }
  // One screen, number 0, at the top left.
  const layout = Buffer.alloc(20)
  layout.writeUInt8(1, 0)
  layout.writeUInt16BE(width, 12)
  layout.writeUInt16BE(height, 14)
  return [rectangleHead(place, encoding.extendedDesktopSize), layout]
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

/** A bit a pixel, each row from a byte of its own. */
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

function rectangleHead({ x, y, width, height }: Rectangle, type: number): Buffer {
  const head = Buffer.allocUnsafe(rectangleHeadBytes)
  head.writeUInt16BE(x, 0)
  head.writeUInt16BE(y, 2)
  head.writeUInt16BE(width, 4)
  head.writeUInt16BE(height, 6)
  head.writeInt32BE(type, 8)
  return head
}
