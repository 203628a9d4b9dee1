import type { ScreenFromGuest } from '@computer/contract/guest-streams'
import { extensionRequest } from '../x11/requests.ts'
import type { XSession } from '../x11/session.ts'

export type Cursor = Extract<ScreenFromGuest, { type: 'cursor' }>

/** Tells the pointer's picture, now and whenever it changes (XFIXES), until it is disposed of. */
export function watchCursor(session: XSession, onCursor: (cursor: Cursor) => void): Disposable {
  const { x, root, fixes } = session
  let isReading = false
  let isStale = false
  let isOver = false
  const read = async (): Promise<void> => {
    isStale = true
    if (isReading) return
    isReading = true
    try {
      while (isStale && !isOver) {
        isStale = false
        const cursor = parseCursor(await x.ask(extensionRequest(fixes.opcode, 4, [])))
        if (cursor && !isOver && !isStale) onCursor(cursor)
      }
    } finally {
      isReading = false
    }
  }
  // It fails when the X server goes away, which whoever watches the screen notices.
  const update = () => void read().catch(() => {})
  const selectChanges = (mask: number) => x.send(extensionRequest(fixes.opcode, 3, [root, mask]))

  const stop = x.listen(fixes.event + 1, update)
  selectChanges(1)
  update()
  return {
    [Symbol.dispose]() {
      isOver = true
      stop()
      selectChanges(0)
    },
  }
}

/** Undefined for a picture that is larger than any pointer's need be. */
function parseCursor(reply: Buffer): Cursor | undefined {
  const [width, height] = [reply.readUInt16LE(12), reply.readUInt16LE(14)]
  const [x, y] = [reply.readUInt16LE(16), reply.readUInt16LE(18)]
  const count = width * height
  if (count > maxPixels || reply.length < headerBytes + count * 4) return undefined
  const rgba = Buffer.alloc(count * 4)
  for (let pixel = 0; pixel < count; pixel++) {
    const argb = reply.readUInt32LE(headerBytes + pixel * 4)
    const alpha = argb >>> 24
    // The X server has multiplied the colours with it.
    const plain = (value: number) => (alpha === 0 ? 0 : Math.min(255, (value * 255) / alpha))
    const colours = [argb >>> 16, argb >>> 8, argb].map((value) => plain(value & 0xff))
    rgba.set([...colours, alpha], pixel * 4)
  }
  return { type: 'cursor', width, height, x, y, pixels: rgba.toString('base64') }
}

const headerBytes = 32
const maxPixels = 256 * 256
