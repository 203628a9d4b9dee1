import type { ScreenFromGuest } from '@computer/contract/guest-streams'
import { extensionRequest } from '../x11/requests.ts'
import type { XSession } from '../x11/session.ts'
import { LatestReader } from './latest-reader.ts'

export type Cursor = Extract<ScreenFromGuest, { type: 'cursor' }>

/** Reports the cursor image, now and whenever it changes (XFIXES), until it is disposed of. */
export function watchCursor(session: XSession, onCursor: (cursor: Cursor) => void): Disposable {
  const { x, root, fixes } = session
  const reader = new LatestReader(
    async () => parseCursor(await x.ask(extensionRequest(fixes.opcode, 4, []))),
    onCursor,
  )
  const selectChanges = (mask: number) => x.send(extensionRequest(fixes.opcode, 3, [root, mask]))

  const stop = x.listen(fixes.event + 1, () => reader.notifyChange())
  selectChanges(1)
  reader.notifyChange()
  return {
    [Symbol.dispose]() {
      reader[Symbol.dispose]()
      stop()
      selectChanges(0)
    },
  }
}

/** Undefined for an image beyond the size of any sensible cursor. */
function parseCursor(reply: Buffer): Cursor | undefined {
  const [width, height] = [reply.readUInt16LE(12), reply.readUInt16LE(14)]
  const [x, y] = [reply.readUInt16LE(16), reply.readUInt16LE(18)]
  const count = width * height
  if (count > maxPixels || reply.length < headerBytes + count * 4) return undefined
  const rgba = Buffer.alloc(count * 4)
  for (let pixel = 0; pixel < count; pixel++) {
    const argb = reply.readUInt32LE(headerBytes + pixel * 4)
    const alpha = argb >>> 24
    // The X server's colours are premultiplied with alpha.
    const straight = (value: number) => (alpha === 0 ? 0 : Math.min(255, (value * 255) / alpha))
    const colours = [argb >>> 16, argb >>> 8, argb].map((value) => straight(value & 0xff))
    rgba.set([...colours, alpha], pixel * 4)
  }
  return { type: 'cursor', width, height, x, y, pixels: rgba.toString('base64') }
}

const headerBytes = 32
const maxPixels = 256 * 256
