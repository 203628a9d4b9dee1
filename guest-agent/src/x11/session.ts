import { XConnection } from './connection.ts'
import { eventCode, eventMask } from './events.ts'
import {
  extensionRequest,
  getProperty,
  internAtom,
  queryExtension,
  selectEvents,
} from './requests.ts'

/** A connection with its server's atoms, extensions and geometry. */
export type XSession = {
  readonly x: XConnection
  readonly root: number
  readonly atoms: Readonly<Record<AtomName, number>>
  readonly xtest: number
  readonly damage: Extension
  readonly fixes: Extension
  /** Updated with every resize. */
  readonly size: { width: number; height: number }
  readonly openedAtMs: number
}

/** The opcode of its requests and the code of its first event. */
type Extension = { readonly opcode: number; readonly event: number }

const atomNames = [
  'CLIPBOARD',
  'INCR',
  'TARGETS',
  'TEXT',
  'TIMESTAMP',
  'UTF8_STRING',
  'WM_PROTOCOLS',
  '_NET_WM_PING',
  '_NET_ACTIVE_WINDOW',
  '_NET_CLIENT_LIST',
  '_NET_SUPPORTING_WM_CHECK',
  '_NET_WM_NAME',
  '_NET_WM_WINDOW_TYPE',
  '_NET_WM_WINDOW_TYPE_DESKTOP',
  '_NET_WM_WINDOW_TYPE_DOCK',
  '_COMPUTER_TRANSFER',
  'text/plain;charset=utf-8',
  'text/plain',
] as const
type AtomName = (typeof atomNames)[number]
export const predefinedAtom = {
  primary: 1,
  atom: 4,
  cardinal: 6,
  string: 31,
  window: 33,
  wmName: 39,
  wmClass: 67,
} as const

export async function openSession(path: string): Promise<XSession> {
  const x = await XConnection.open(path)
  try {
    const { root, width, height } = x.setup
    const size = { width, height }
    x.listen(eventCode.configureNotify, (event) => {
      if (event.readUInt32LE(8) !== root) return
      size.width = event.readUInt16LE(20)
      size.height = event.readUInt16LE(22)
    })
    x.send(selectEvents(root, eventMask.structureNotify))
    const [atoms, xtest, damage, fixes] = await Promise.all([
      internAtoms(x),
      findExtension(x, 'XTEST'),
      findExtension(x, 'DAMAGE'),
      findExtension(x, 'XFIXES'),
    ])
    // Both extensions require the client's version first.
    await Promise.all([
      x.ask(extensionRequest(fixes.opcode, 0, [5, 0])),
      x.ask(extensionRequest(damage.opcode, 0, [1, 1])),
    ])
    const openedAtMs = performance.now()
    return { x, root, atoms, xtest: xtest.opcode, damage, fixes, size, openedAtMs }
  } catch (error) {
    x[Symbol.dispose]()
    throw error
  }
}

/** The first words of a property; empty if it is not set. */
export async function readWords(
  session: XSession,
  window: number,
  property: number,
): Promise<Uint32Array> {
  const reply = await session.x.ask(getProperty(window, property))
  const count = reply[1] === 32 ? reply.readUInt32LE(16) : 0
  return Uint32Array.from({ length: count }, (_, index) => reply.readUInt32LE(32 + index * 4))
}

async function internAtoms(x: XConnection): Promise<Record<AtomName, number>> {
  const replies = await Promise.all(atomNames.map((name) => x.ask(internAtom(name))))
  const entries = atomNames.map((name, index) => [name, replies[index]!.readUInt32LE(8)])
  return Object.fromEntries(entries) as Record<AtomName, number>
}

async function findExtension(x: XConnection, name: string): Promise<Extension> {
  const reply = await x.ask(queryExtension(name))
  if (reply[8] !== 1) throw new Error(`the X server has no ${name}`)
  return { opcode: reply[9]!, event: reply[10]! }
}
