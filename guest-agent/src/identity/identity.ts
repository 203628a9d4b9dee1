import type { GuestIdentity } from '@computer/contract/guest'
import { hostname as readHostname } from 'node:os'
import { join } from 'node:path'
import { invalid } from '../refusal.ts'
import { Folder } from './folder.ts'
import { renewHostKeys } from './host-keys.ts'
import { keepHostname } from './hostname.ts'
import { removeLeftovers } from './leftovers.ts'
import { systemTools, type SystemTools } from './tools.ts'

/**
 * Who the machine is. Its disk remembers the machine that it was last told, in a file for root alone:
 * told another one, the disk is a copy of that machine's, and all that would let one be taken for the
 * other is made anew. The file is written last, so that what breaks off is done again.
 *
 * A step that fails is written to the log and keeps no machine from booting: whoever is root of it
 * may have made it fail. It is tried again with the next boot.
 */
export class Identity {
  readonly #rootPath: string
  readonly #tools: SystemTools
  #turn: Promise<unknown> = Promise.resolve()

  constructor(rootPath: string, tools: SystemTools = systemTools) {
    this.#rootPath = rootPath
    this.#tools = tools
  }

  /** Answers when all of it is done; at once when the machine was told the same before. */
  take(told: GuestIdentity): Promise<void> {
    if (!/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(told.hostname)) {
      throw invalid('a hostname has lower-case letters, digits and inner hyphens only')
    }
    // A caller that gave up waiting comes again while the first call is still at work.
    const taken = this.#turn.then(() => this.#take(told))
    this.#turn = taken.catch(() => {})
    return taken
  }

  async #take({ machine, hostname }: GuestIdentity): Promise<void> {
    await attempt('set the host name', async () => {
      if (readHostname() !== hostname) await this.#tools.setHostname(hostname)
      keepHostname(this.#rootPath, hostname)
    })
    if (this.#readMachine() === machine) return
    const isDone = await attempt('give the disk an identity of its own', async () => {
      removeLeftovers(this.#rootPath)
      await renewHostKeys(this.#rootPath, this.#ownPath, this.#tools)
    })
    if (isDone) await attempt('remember the machine', () => this.#writeMachine(machine))
  }

  get #ownPath(): string {
    return join(this.#rootPath, 'var/lib/computer')
  }

  #readMachine(): string | undefined {
    using folder = Folder.open(this.#ownPath)
    return folder?.read('machine')?.trim()
  }

  #writeMachine(machine: string): void {
    using folder = Folder.make(this.#ownPath)
    folder.write('machine', `${machine}\n`, 0o600)
  }
}

async function attempt(what: string, work: () => void | Promise<void>): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    console.error(`could not ${what}`, error)
    return false
  }
}
