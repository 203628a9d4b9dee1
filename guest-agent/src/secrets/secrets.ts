import type { GuestSecrets } from '@computer/contract/guest-secrets'
import { statfsSync } from 'node:fs'
import { Folder } from '../system/folder.ts'
import { AgentError } from '../errors.ts'
import type { User } from '../system/users.ts'
import { parseSecrets, formatSecrets } from './file.ts'

/**
 * The machine's secrets: in the environment of processes that the agent starts, and in a file for
 * login shells. The file is in memory, never on a disk, and readable by the desktop's user and root
 * alone. A restarted agent loads the secrets from it.
 */
export class Secrets {
  readonly #folderPath: string
  #current: GuestSecrets

  constructor(folderPath: string) {
    this.#folderPath = folderPath
    using folder = Folder.open(folderPath)
    this.#current = parseSecrets(folder?.read(fileName, maxFileBytes) ?? '')
  }

  get revision(): number {
    return this.#current.revision
  }

  get environment(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#current.secrets.map(({ name, value }) => [name, value]))
  }

  /** Ignores a set older than the present one and returns false. `owner` may read the file. */
  replace(secrets: GuestSecrets, owner: User | undefined): boolean {
    if (secrets.revision < this.#current.revision) return false
    using folder = this.#openInMemory()
    if (secrets.secrets.length === 0) folder.remove(fileName)
    else folder.write(fileName, formatSecrets(secrets), 0o600, owner)
    this.#current = secrets
    return true
  }

  #openInMemory(): Folder {
    const folder = Folder.open(this.#folderPath)
    if (folder && memoryTypes.has(statfsSync(this.#folderPath).type)) return folder
    folder?.[Symbol.dispose]()
    throw new AgentError('precondition_failed', `${this.#folderPath} is not in memory`)
  }
}

const fileName = 'secrets.env'
/** Fits the longest set with every character a quote. */
const maxFileBytes = 8 * 1024 * 1024
/** tmpfs and ramfs. */
const memoryTypes: ReadonlySet<number> = new Set([0x01021994, 0x858458f6])
