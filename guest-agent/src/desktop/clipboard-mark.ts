import { randomBytes } from 'node:crypto'
import { createWindow, extensionRequest } from '../x11/requests.ts'
import type { XSession } from '../x11/session.ts'

/** Tells whether the clipboard has had a new owner, or the same one with a new text, between two reads. */
export class ClipboardMark {
  readonly #session: XSession
  readonly #id = randomBytes(6).toString('base64url')
  #owners = 0
  #isWatching = false

  constructor(session: XSession) {
    this.#session = session
  }

  /** Equal to an earlier one if nothing was copied in between. */
  async read(): Promise<string> {
    this.#watch()
    // Brings the notifications of all that was copied before.
    await this.#session.x.sync()
    return `${this.#id}-${this.#owners}`
  }

  #watch(): void {
    if (this.#isWatching) return
    this.#isWatching = true
    const { x, root, fixes, atoms } = this.#session
    // A window of its own: a client has one selection of events for each window and clipboard (clipboard-watch.ts).
    const window = x.newId()
    x.send(createWindow(window, root, 0))
    x.listen(fixes.event, (event) => {
      if (event.readUInt32LE(4) === window) this.#owners += 1
    })
    const setSelectionOwner = 1
    x.send(extensionRequest(fixes.opcode, 2, [window, atoms.CLIPBOARD, setSelectionOwner]))
  }
}
