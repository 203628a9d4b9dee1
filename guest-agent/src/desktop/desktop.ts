import type { Display } from '@computer/contract'
import { desktopDown } from '../refusal.ts'
import { getWindowAttributes } from '../x11/requests.ts'
import { openSession, readWords, type XSession } from '../x11/session.ts'
import { Clipboard } from './clipboard.ts'
import { Keyboard } from './keyboard.ts'
import { releaseLeftovers } from './leftovers.ts'
import { Pointer } from './pointer.ts'
import { Screen } from './screen.ts'

/** What lives as long as one X server: when it restarts, nothing is pressed, owned or mapped. */
export type Seat = {
  readonly session: XSession
  readonly screen: Screen
  readonly pointer: Pointer
  readonly keyboard: Keyboard
  readonly clipboard: Clipboard
}

/** The machine's desktop, over one X connection that is opened when it is needed and kept. */
export class Desktop {
  readonly #xSocketPath: string
  #seat: Promise<Seat> | undefined
  #up: Seat | undefined

  constructor(options: { readonly xSocketPath: string }) {
    this.#xSocketPath = options.xSocketPath
  }

  /** The size is zero while there is no X server. */
  async read(): Promise<Display> {
    try {
      const seat = await this.#connect()
      const up = await this.#isUp(seat)
      return { ...seat.session.size, up }
    } catch {
      return { width: 0, height: 0, up: false }
    }
  }

  /** The seat of a desktop that answers. */
  async use(): Promise<Seat> {
    const seat = await this.#connect().catch((error: unknown) => {
      throw desktopDown(`the display does not answer: ${(error as Error).message}`)
    })
    if (!(await this.#isUp(seat))) throw desktopDown('the desktop has not started yet')
    return seat
  }

  /** The seat if there is an X server, whatever its desktop does. */
  current(): Promise<Seat | undefined> {
    return this.#connect().catch(() => undefined)
  }

  #connect(): Promise<Seat> {
    this.#seat ??= this.#open().catch((error: unknown) => {
      this.#seat = undefined
      throw error
    })
    return this.#seat
  }

  async #open(): Promise<Seat> {
    const session = await openSession(this.#xSocketPath)
    void session.x.closed.then(() => {
      this.#seat = undefined
      this.#up = undefined
    })
    await releaseLeftovers(session)
    const pointer = new Pointer(session)
    const keyboard = new Keyboard(session)
    return {
      session,
      screen: new Screen(session),
      pointer,
      keyboard,
      clipboard: new Clipboard(session),
    }
  }

  /**
   * Whether somebody who looks would see a desktop: a window manager, and a backdrop and a panel on
   * the screen. Once it was, it stays: what its user later closes or replaces is their affair.
   */
  async #isUp(seat: Seat): Promise<boolean> {
    if (this.#up === seat) return true
    const managed = await hasWindowManager(seat.session)
    const isLate = performance.now() - seat.session.openedAtMs > patienceMs
    if (!isLate && !(managed && (await hasFurniture(seat.session)))) return false
    this.#up = seat
    return true
  }
}

/** A desktop other than ours may have neither; after so long it is as up as it will be. */
const patienceMs = 30_000

/** By EWMH: the window named on the root names itself. */
async function hasWindowManager(session: XSession): Promise<boolean> {
  const property = session.atoms._NET_SUPPORTING_WM_CHECK
  const [check] = await readWords(session, session.root, property)
  if (!check) return false
  const [own] = await readWords(session, check, property).catch(() => [])
  return own === check
}

async function hasFurniture(session: XSession): Promise<boolean> {
  const { atoms, root } = session
  const windows = await readWords(session, root, atoms._NET_CLIENT_LIST)
  const kinds = new Set<number>()
  for (const window of windows) {
    const [types, attributes] = await Promise.all([
      readWords(session, window, atoms._NET_WM_WINDOW_TYPE).catch(() => []),
      session.x.ask(getWindowAttributes(window)).catch(() => undefined),
    ])
    const viewable = 2
    if (attributes?.[26] === viewable) for (const type of types) kinds.add(type)
  }
  return kinds.has(atoms._NET_WM_WINDOW_TYPE_DESKTOP) && kinds.has(atoms._NET_WM_WINDOW_TYPE_DOCK)
}
