import type { z } from 'zod'
import type { ClipboardSelection } from '@computer/contract'
import { AgentError } from '../errors.ts'
import { SerialQueue } from '../serial-queue.ts'
import { predefinedAtom, type XSession } from '../x11/session.ts'
import { SelectionOwner } from './selection-owner.ts'
import { readSelection } from './selection-reader.ts'

type Selection = z.output<typeof ClipboardSelection>

/** The two X selections. Text written here is owned by the agent and read back without asking X. */
export class Clipboard {
  readonly #session: XSession
  readonly #owner: SelectionOwner
  readonly #queue = new SerialQueue()

  constructor(session: XSession) {
    this.#session = session
    this.#owner = new SelectionOwner(session)
  }

  write(selection: Selection, text: string): Promise<void> {
    return this.#owner.own(this.#atomOf(selection), Buffer.from(text, 'utf8'))
  }

  /** Takes both selections with an empty text: some programs put back what they kept when nobody owns one. */
  async empty(): Promise<void> {
    await this.write('clipboard', '')
    await this.write('primary', '')
  }

  /** Empty if the selection has no owner or holds no text. */
  async read(selection: Selection): Promise<string> {
    return (await this.#read(selection)).text
  }

  /** The text of another program; undefined if the agent itself owns the selection. */
  async readForeign(selection: Selection): Promise<string | undefined> {
    const { text, isOurs } = await this.#read(selection)
    return isOurs ? undefined : text
  }

  #read(selection: Selection): Promise<{ readonly text: string; readonly isOurs: boolean }> {
    return this.#queue.run(async () => {
      const atom = this.#atomOf(selection)
      await this.#session.x.sync()
      const own = this.#owner.contentOf(atom)
      const bytes = own ?? (await readSelection(this.#session, this.#owner.window, atom))
      if (bytes.length > maxBytes) {
        throw new AgentError(
          'precondition_failed',
          `the clipboard holds more than ${maxBytes} bytes`,
        )
      }
      return { text: bytes.toString('utf8'), isOurs: own !== undefined }
    })
  }

  #atomOf(selection: Selection): number {
    return selection === 'primary' ? predefinedAtom.primary : this.#session.atoms.CLIPBOARD
  }
}

/** The longest text that one write accepts, as UTF-8. */
const maxBytes = 3 * 4 * 1024 * 1024
