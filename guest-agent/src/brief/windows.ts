import type { GuestBrief } from '@computer/contract/guest-brief'
import { getProperty, getWindowAttributes, queryTree } from '../x11/requests.ts'
import { predefinedAtom, readWords, type XSession } from '../x11/session.ts'
import { cutText } from './text.ts'

type Window = GuestBrief['windows'][number]

const mostWindows = 200
const [titleLength, programLength] = [256, 128]
/** More of a property is not read: four bytes for each character of a title. */
const propertyWords = 256

/**
 * The windows that programs have opened, in their order: the newest 200. Programs choose what their windows are
 * called, so titles and programs are cut.
 */
export async function readWindows(session: XSession): Promise<Window[]> {
  const ids = await findWindows(session)
  const windows = ids.slice(-mostWindows).map((id) => describe(session, id))
  return (await Promise.all(windows)).filter((window) => window !== undefined)
}

/** Windows as the window manager lists them; without one, the windows that are shown. */
async function findWindows(session: XSession): Promise<number[]> {
  const { x, root, atoms } = session
  const managed = await readWords(session, root, atoms._NET_CLIENT_LIST)
  if (managed.length > 0) return [...managed]
  const tree = await x.ask(queryTree(root))
  const children = Array.from({ length: tree.readUInt16LE(16) }, (_, index) =>
    tree.readUInt32LE(32 + index * 4),
  )
  const shown = children
    .slice(-maxChildren)
    .map(async (id) => ((await isShown(session, id)) ? id : 0))
  return (await Promise.all(shown)).filter((id) => id !== 0)
}

const maxChildren = 1000

/** Menus and tooltips, which no window manager touches, are not counted. */
async function isShown(session: XSession, window: number): Promise<boolean> {
  const attributes = await session.x.ask(getWindowAttributes(window)).catch(() => undefined)
  const viewable = 2
  return attributes?.[26] === viewable && attributes[27] === 0
}

/** Undefined if it has been closed. */
async function describe(session: XSession, id: number): Promise<Window | undefined> {
  try {
    const [name, plainName, classes] = await Promise.all([
      readText(session, id, session.atoms._NET_WM_NAME),
      readText(session, id, predefinedAtom.wmName),
      readText(session, id, predefinedAtom.wmClass),
    ])
    // The name of the instance, and that of the class.
    const [instance = '', program = ''] = classes.split('\0')
    return {
      id,
      title: cutText(name || plainName, titleLength),
      program: cutText(program || instance, programLength),
    }
  } catch {
    return undefined
  }
}

async function readText(session: XSession, window: number, property: number): Promise<string> {
  const reply = await session.x.ask(getProperty(window, property, { words: propertyWords }))
  const [type, length] = [reply.readUInt32LE(8), reply.readUInt32LE(16)]
  if (reply[1] !== 8) return ''
  const bytes = reply.subarray(32, 32 + length)
  return bytes.toString(type === predefinedAtom.string ? 'latin1' : 'utf8')
}
