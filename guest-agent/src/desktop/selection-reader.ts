import { desktopDown, AgentError } from '../errors.ts'
import { eventCode } from '../x11/events.ts'
import { convertSelection, getProperty, getSelectionOwner } from '../x11/requests.ts'
import { predefinedAtom, type XSession } from '../x11/session.ts'

/** Asks the owner of a selection for its text, through a property of our window. */
export async function readSelection(
  session: XSession,
  window: number,
  selection: number,
): Promise<Buffer> {
  const { x, atoms } = session
  const owner = (await x.ask(getSelectionOwner(selection))).readUInt32LE(8)
  if (owner === 0) return Buffer.alloc(0)
  for (const target of [atoms.UTF8_STRING, predefinedAtom.string]) {
    const bytes = await convert(session, window, selection, target)
    if (!bytes) continue
    return target === predefinedAtom.string ? Buffer.from(bytes.toString('latin1')) : bytes
  }
  return Buffer.alloc(0)
}

/** For each piece. */
const ownerTimeoutMs = 3000
const unresponsive = 'the program that owns the clipboard does not respond'
const maxTotalBytes = 16 * 1024 * 1024

/** Undefined if the owner does not offer the selection in this form. */
async function convert(
  session: XSession,
  window: number,
  selection: number,
  target: number,
): Promise<Buffer | undefined> {
  const { x, atoms } = session
  const transfer = atoms._COMPUTER_TRANSFER
  const now = 0
  // Listens early, because pieces may arrive before they are awaited.
  const written = collectEvents(session, eventCode.propertyNotify, (event) => {
    const isNew = event[16] === 0
    return isNew && event.readUInt32LE(4) === window && event.readUInt32LE(8) === transfer
  })
  const answers = collectEvents(session, eventCode.selectionNotify, (event) => {
    return event.readUInt32LE(8) === window && event.readUInt32LE(16) === target
  })
  try {
    x.send(convertSelection(window, selection, target, transfer, now))
    const answer = await answers.next()
    if (answer.readUInt32LE(20) === 0) return undefined
    // Before the property is deleted, which requests the first piece.
    written.clear()
    const first = await takeProperty(session, window, transfer)
    if (first.type !== atoms.INCR) return first.bytes

    const pieces: Buffer[] = []
    for (let length = 0; length <= maxTotalBytes;) {
      await written.next()
      const { bytes } = await takeProperty(session, window, transfer)
      if (bytes.length === 0) break
      pieces.push(bytes)
      length += bytes.length
    }
    return Buffer.concat(pieces)
  } finally {
    written.stop()
    answers.stop()
  }
}

type Property = { readonly type: number; readonly bytes: Buffer }

/** Reads and deletes a property, which requests the next piece from its writer. */
async function takeProperty(
  session: XSession,
  window: number,
  property: number,
): Promise<Property> {
  const words = maxTotalBytes / 4
  const reply = await session.x.ask(getProperty(window, property, { remove: true, words }))
  const length = reply.readUInt32LE(16) * ((reply[1] ?? 0) / 8)
  return { type: reply.readUInt32LE(8), bytes: reply.subarray(32, 32 + length) }
}

/** Collects matching events. `next` returns them in order and waits for one, with a time limit. */
function collectEvents(session: XSession, code: number, matches: (event: Buffer) => boolean) {
  const pending: Buffer[] = []
  let wake: (() => void) | undefined
  const stop = session.x.listen(code, (event) => {
    if (!matches(event)) return
    pending.push(event)
    wake?.()
  })
  return {
    stop,
    clear: () => pending.splice(0),
    next: async (): Promise<Buffer> => {
      const first = pending.shift()
      if (first) return first
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      wake = resolve
      const timer = setTimeout(() => {
        reject(new AgentError('compute_unavailable', unresponsive))
      }, ownerTimeoutMs)
      try {
        await Promise.race([promise, session.x.closed])
      } finally {
        clearTimeout(timer)
      }
      const event = pending.shift()
      if (!event) throw desktopDown('the display went away; try again')
      return event
    },
  }
}
