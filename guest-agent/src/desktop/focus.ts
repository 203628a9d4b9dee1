import { setTimeout as pause } from 'node:timers/promises'
import { eventCode, eventMask } from '../x11/events.ts'
import { getInputFocus, queryPointer, queryTree, selectEvents, sendEvent } from '../x11/requests.ts'
import { readWords, type XSession } from '../x11/session.ts'

/**
 * Waits until the program with the keyboard focus has read every event sent so far: a ping (EWMH)
 * is answered in the order of its events. A program that does not support pings gets a fixed time
 * instead. More than one round lets the program's other X connections catch up too: Chromium reads
 * the keymap over one of them.
 */
export async function waitForReader(session: XSession, rounds = 1): Promise<void> {
  const window = await findPingable(session)
  if (window === undefined) return pause(unpingableMs)
  const { x, root } = session
  x.send(selectEvents(root, eventMask.structureNotify | eventMask.substructureNotify))
  for (let round = 0; round < rounds; round++) {
    if (!(await ping(session, window))) break
  }
  x.send(selectEvents(root, eventMask.structureNotify))
}

/**
 * Waits, for a limited time, until the window under the pointer has the focus: the window manager
 * moves the focus some time after a click, and keys sent at once would go to the previous window.
 */
export async function waitForFocus(session: XSession, clickedAtMs: number): Promise<void> {
  const { x, root } = session
  while (performance.now() - clickedAtMs < focusMs) {
    const [focus, pointer] = await Promise.all([x.ask(getInputFocus()), x.ask(queryPointer(root))])
    const clicked = pointer.readUInt32LE(12)
    if ((await topLevelOf(session, focus.readUInt32LE(8))) === clicked) return
    await pause(2)
  }
}

/** As the window manager says; 0 if no window is active. */
export async function readActiveWindow(session: XSession): Promise<number> {
  const [window = 0] = await readWords(session, session.root, session.atoms._NET_ACTIVE_WINDOW)
  return window
}

async function topLevelOf(session: XSession, window: number): Promise<number | undefined> {
  try {
    for (let at = window; at > pointerRoot && at !== session.root;) {
      const parent = (await session.x.ask(queryTree(at))).readUInt32LE(12)
      if (parent === session.root) return at
      at = parent
    }
  } catch {
    // The window was closed in the meantime.
  }
  return undefined
}

const focusMs = 300
const unpingableMs = 40
const unansweredMs = 1500
const pointerRoot = 1
let lastToken = 0

async function findPingable(session: XSession): Promise<number | undefined> {
  const { x, atoms, root } = session
  try {
    let window = (await x.ask(getInputFocus())).readUInt32LE(8)
    while (window > pointerRoot && window !== root) {
      const protocols = await readWords(session, window, atoms.WM_PROTOCOLS)
      if (protocols.includes(atoms._NET_WM_PING)) return window
      window = (await x.ask(queryTree(window))).readUInt32LE(12)
    }
  } catch {
    // The window was closed in the meantime.
  }
  return undefined
}

async function ping(session: XSession, window: number): Promise<boolean> {
  const { x, atoms } = session
  const token = (lastToken = (lastToken % 0x7fffffff) + 1)
  const event = Buffer.alloc(32)
  event[0] = eventCode.clientMessage
  event[1] = 32
  const words = [window, atoms.WM_PROTOCOLS, atoms._NET_WM_PING, token, window]
  words.forEach((word, index) => event.writeUInt32LE(word, 4 + index * 4))

  const answered = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => answered.resolve(false), unansweredMs)
  const stop = x.listen(eventCode.clientMessage, (answer) => {
    if (answer.readUInt32LE(12) !== atoms._NET_WM_PING || answer.readUInt32LE(16) !== token) return
    answered.resolve(true)
  })
  x.send(sendEvent(window, 0, event))
  try {
    return await answered.promise
  } finally {
    clearTimeout(timer)
    stop()
  }
}
