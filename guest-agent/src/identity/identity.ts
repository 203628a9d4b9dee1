import type { GuestIdentity } from '@computer/contract/guest'
import { hostname as readHostname } from 'node:os'
import { join } from 'node:path'
import { attempt } from '../attempt.ts'
import { invalidRequest } from '../errors.ts'
import { SerialQueue } from '../serial-queue.ts'
import { Folder } from '../system/folder.ts'
import { renewHostKeys } from './host-keys.ts'
import { storeHostname } from './hostname.ts'
import { removeInheritedState } from './inherited-state.ts'
import { systemTools, type SystemTools } from './tools.ts'

/**
 * The identity of the machine. A file on its disk, readable by root alone, names the machine that
 * the disk last belonged to. If the server names another one, the disk is a copy, and everything
 * that would identify the source machine is renewed. The file is written last, so that an
 * interrupted renewal runs again.
 *
 * A step that fails is logged and tried again with the next boot.
 */
export class Identity {
  readonly #rootPath: string
  readonly #tools: SystemTools
  readonly #queue = new SerialQueue()
  /** The name that the server sent, until it has been confirmed. */
  #hostname: string | undefined

  constructor(rootPath: string, tools: SystemTools = systemTools) {
    this.#rootPath = rootPath
    this.#tools = tools
  }

  /** Resolves when all is done: soon, if the disk has this identity already. */
  apply(identity: GuestIdentity): Promise<void> {
    if (!/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(identity.hostname)) {
      throw invalidRequest('a hostname may have only lower-case letters, digits and inner hyphens')
    }
    // A caller that timed out retries while its first call is still running.
    return this.#queue.run(() => this.#apply(identity))
  }

  /**
   * Sets the host name again if it is another by now. A systemd that was starting may have read the name that
   * the disk had before, and have set it after us.
   */
  async confirm(): Promise<void> {
    if (this.#hostname !== undefined && readHostname() !== this.#hostname) {
      await this.#queue.run(() => this.#setHostname())
    }
    this.#hostname = undefined
  }

  async #apply({ machine, hostname }: GuestIdentity): Promise<void> {
    this.#hostname = hostname
    const naming = this.#setHostname()
    await attempt('store the host name', () => storeHostname(this.#rootPath, hostname))
    await this.#renew(machine)
    await naming
  }

  async #setHostname(): Promise<void> {
    const name = this.#hostname
    if (name === undefined || readHostname() === name) return
    await attempt('set the host name', () => this.#tools.setHostname(name))
  }

  async #renew(machine: string): Promise<void> {
    if (this.#readMachine() === machine) return
    const isDone = await attempt('renew the identity of the disk', async () => {
      removeInheritedState(this.#rootPath)
      await renewHostKeys(this.#rootPath, this.#statePath, this.#tools)
    })
    if (isDone) await attempt('record the machine id', () => this.#writeMachine(machine))
  }

  get #statePath(): string {
    return join(this.#rootPath, 'var/lib/computer')
  }

  #readMachine(): string | undefined {
    using folder = Folder.open(this.#statePath)
    return folder?.read('machine')?.trim()
  }

  #writeMachine(machine: string): void {
    using folder = Folder.make(this.#statePath)
    folder.write('machine', `${machine}\n`, 0o600)
  }
}
