import type { Display } from '@computer/contract'
import { desktopDown } from '../errors.ts'
import { getWindowAttributes } from '../x11/requests.ts'
import { openSession, readWords, type XSession } from '../x11/session.ts'
import { Settling } from '../screen/settling.ts'
import { Clipboard } from './clipboard.ts'
import { ClipboardMark } from './clipboard-mark.ts'
import { Keyboard } from './keyboard.ts'
import { releaseStuckInput } from './stuck-input.ts'
import { Pointer } from './pointer.ts'
import { Screenshots } from './screenshots.ts'
import { StaleGuard } from './stale-guard.ts'

/** Lives as long as one X server: after its restart nothing is pressed, owned or mapped. */
export type DesktopSession = {
  readonly xSession: XSession
  readonly screenshots: Screenshots
  readonly settling: Settling
  readonly guard: StaleGuard
  readonly pointer: Pointer
  readonly keyboard: Keyboard
  readonly clipboard: Clipboard
  readonly clipboardMark: ClipboardMark
}

/** The machine's desktop, over one X connection that is opened on demand and kept. */
export class Desktop {
  readonly #xSocketPath: string
  #session: Promise<DesktopSession> | undefined
  /** The session whose desktop was found up. */
  #up: DesktopSession | undefined

  constructor(options: { readonly xSocketPath: string }) {
    this.#xSocketPath = options.xSocketPath
  }

  /** The size is zero while there is no X server. */
  async readState(): Promise<Display> {
    try {
      const session = await this.#connect()
      const up = await this.#isUp(session)
      return { ...session.xSession.size, up }
    } catch {
      return { width: 0, height: 0, up: false }
    }
  }

  /** The session, once the desktop is up. Throws before. */
  async requireUp(): Promise<DesktopSession> {
    const session = await this.#connect().catch((error: unknown) => {
      throw desktopDown(`the display does not respond: ${(error as Error).message}`)
    })
    if (!(await this.#isUp(session))) throw desktopDown('the desktop has not started yet')
    return session
  }

  /** The session if there is an X server, whether or not its desktop is up. */
  current(): Promise<DesktopSession | undefined> {
    return this.#connect().catch(() => undefined)
  }

  #connect(): Promise<DesktopSession> {
    this.#session ??= this.#open().catch((error: unknown) => {
      this.#session = undefined
      throw error
    })
    return this.#session
  }

  async #open(): Promise<DesktopSession> {
    const xSession = await openSession(this.#xSocketPath)
    void xSession.x.closed.then(() => {
      this.#session = undefined
      this.#up = undefined
    })
    await releaseStuckInput(xSession)
    const screenshots = new Screenshots(xSession)
    return {
      xSession,
      screenshots,
      guard: new StaleGuard(xSession, screenshots.seen),
      settling: new Settling(xSession),
      pointer: new Pointer(xSession),
      keyboard: new Keyboard(xSession),
      clipboard: new Clipboard(xSession),
      clipboardMark: new ClipboardMark(xSession),
    }
  }

  /**
   * Whether the screen shows a desktop: it has a window manager, a backdrop and a panel. Once up, a
   * desktop stays up: its user may close or replace any of them.
   */
  async #isUp(session: DesktopSession): Promise<boolean> {
    if (this.#up === session) return true
    const { xSession } = session
    const isManaged = await hasWindowManager(xSession)
    const isLate = performance.now() - xSession.openedAtMs > maxStartMs
    if (!isLate && !(isManaged && (await hasBackdropAndPanel(xSession)))) return false
    this.#up = session
    return true
  }
}

/** Other desktops may have no backdrop or panel, so after this time any desktop counts as up. */
const maxStartMs = 30_000

/** As EWMH defines it: the root names a window, which names itself. */
async function hasWindowManager(session: XSession): Promise<boolean> {
  const property = session.atoms._NET_SUPPORTING_WM_CHECK
  const [check] = await readWords(session, session.root, property)
  if (!check) return false
  const [own] = await readWords(session, check, property).catch(() => [])
  return own === check
}

async function hasBackdropAndPanel(session: XSession): Promise<boolean> {
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
