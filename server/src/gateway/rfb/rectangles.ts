import { encoding, type ResizeForm } from './encodings.ts'
import type { Geometry, Rectangle, Tile } from './tile.ts'

/** Takes each rectangle as its parts. Batches small parts into few writes and never copies large ones. */
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

export function rectangleHead({ x, y, width, height }: Rectangle, type: number): Buffer {
  const head = Buffer.allocUnsafe(rectangleHeadBytes)
  head.writeUInt16BE(x, 0)
  head.writeUInt16BE(y, 2)
  head.writeUInt16BE(width, 4)
  head.writeUInt16BE(height, 6)
  head.writeInt32BE(type, 8)
  return head
}

export function tightRectangle(tile: Tile): Buffer[] {
  return [rectangleHead(tile, encoding.tight), tile.body]
}

export function rawRectangle(tile: Tile, packed: Buffer): Buffer[] {
  return [rectangleHead(tile, encoding.raw), packed]
}

export function sizeRectangle(form: ResizeForm, geometry: Geometry): Buffer[] {
  if (form === 'extended') return layoutRectangle(geometry, { reason: byServer, status: 0 })
  return [rectangleHead({ x: 0, y: 0, ...geometry }, encoding.desktopSize)]
}

/** Replies to SetDesktopSize. `forwarded`: the machine decides, and a new size follows if it agrees. */
export const sizeStatus = { prohibited: 1, invalid: 3, forwarded: 4 } as const
export type SizeStatus = (typeof sizeStatus)[keyof typeof sizeStatus]

export function resizeReplyRectangle(geometry: Geometry, status: SizeStatus): Buffer[] {
  return layoutRectangle(geometry, { reason: byThisClient, status })
}

/** Who caused the size in an ExtendedDesktopSize rectangle. */
const byServer = 0
const byThisClient = 1

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
