import type { z } from 'zod'
import type { ClipboardSelection } from '@computer/contract'
import { Refusal } from '../refusal.ts'
import type { XSession } from '../x11/session.ts'
import { predefinedAtom } from '../x11/session.ts'
import { SelectionOwner } from './selection-owner.ts'
import { readSelection } from './selection-reader.ts'

type Selection = z.output<typeof ClipboardSelection>

/** The two selections. What was written here is owned here, and answered without asking X for it. */
export class Clipboard {
  readonly #session: XSession
  readonly #owner: SelectionOwner
  #turn: Promise<unknown> = Promise.resolve()

  constructor(session: XSession) {
    this.#session = session
    this.#owner = new SelectionOwner(session)
  }

  write(selection: Selection, text: string): Promise<void> {
    return this.#owner.own(this.#atomOf(selection), Buffer.from(text, 'utf8'))
  }

  /** Empty when nobody owns it, or what its owner has is not text. */
  async read(selection: Selection): Promise<string> {
    return (await this.#read(selection)).text
  }

  /** What a program inside has, undefined when what is there was written here. */
  async readOthers(selection: Selection): Promise<string | undefined> {
    const { text, isOurs } = await this.#read(selection)
    return isOurs ? undefined : text
  }

  #read(selection: Selection): Promise<{ readonly text: string; readonly isOurs: boolean }> {
    const read = this.#turn.then(async () => {
      const atom = this.#atomOf(selection)
      await this.#session.x.sync()
      const own = this.#owner.contentOf(atom)
      const bytes = own ?? (await readSelection(this.#session, this.#owner.window, atom))
      if (bytes.length > maxBytes) {
        throw new Refusal('precondition_failed', `the clipboard holds more than ${maxBytes} bytes`)
      }
      return { text: bytes.toString('utf8'), isOurs: own !== undefined }
    })
    this.#turn = read.catch(() => {})
    return read
  }

  #atomOf(selection: Selection): number {
    return selection === 'primary' ? predefinedAtom.primary : this.#session.atoms.CLIPBOARD
  }
}

/** What one write of the longest text can put there. */
const maxBytes = 3 * 4 * 1024 * 1024
