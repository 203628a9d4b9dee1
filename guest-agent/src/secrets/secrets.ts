import type { GuestSecrets } from '@computer/contract/guest-secrets'
import { statfsSync } from 'node:fs'
import { Folder } from '../identity/folder.ts'
import { Refusal } from '../refusal.ts'
import type { User } from '../users.ts'
import { parseSecrets, printSecrets } from './file.ts'

/**
 * The machine's secrets: in the environment of what the agent starts, and in a file for login shells.
 * The file is in memory, for the desktop's user and root alone, and is what an agent that was
 * restarted goes on with; no disk ever holds it.
 */
export class Secrets {
  readonly #folderPath: string
  #held: GuestSecrets

  constructor(folderPath: string) {
    this.#folderPath = folderPath
    using folder = Folder.open(folderPath)
    this.#held = parseSecrets(folder?.read(fileName, maxFileBytes) ?? '')
  }

  get revision(): number {
    return this.#held.revision
  }

  get environment(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#held.secrets.map(({ name, value }) => [name, value]))
  }

  /**
   * Whether it is a change: a set older than the one held comes late and is not one. `owner` reads
   * the file; without one root does.
   */
  take(told: GuestSecrets, owner: User | undefined): boolean {
    if (told.revision < this.#held.revision) return false
    using folder = this.#openInMemory()
    if (told.secrets.length === 0) folder.remove(fileName)
    else folder.write(fileName, printSecrets(told), 0o600, owner)
    this.#held = told
    return true
  }

  #openInMemory(): Folder {
    const folder = Folder.open(this.#folderPath)
    if (folder && memoryTypes.has(statfsSync(this.#folderPath).type)) return folder
    folder?.[Symbol.dispose]()
    throw new Refusal('precondition_failed', `${this.#folderPath} is not in memory`)
  }
}

const fileName = 'secrets.env'
/** Every second character may be a quote. */
const maxFileBytes = 8 * 1024 * 1024
/** tmpfs and ramfs. */
const memoryTypes: ReadonlySet<number> = new Set([0x01021994, 0x858458f6])
