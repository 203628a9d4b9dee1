import type { Process as ProcessInfo } from '@computer/contract'
import type { GuestStartProcess } from '@computer/contract/guest-processes'
import { mkdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { argvFor, checkCommand } from '../exec/command.ts'
import { loginEnvironment, type LoginWish } from '../exec/environment.ts'
import { startCommand } from '../exec/run.ts'
import { Refusal } from '../refusal.ts'
import { LogFile } from './log-file.ts'
import { BackgroundProcess } from './process.ts'

const maxRunning = 256
const maxExited = 100
const logBytes = 16 * 1024 * 1024

/** The commands of a machine that go on without their callers, and what they wrote. */
export class Processes {
  readonly #folder: string
  readonly #processes = new Map<string, BackgroundProcess>()
  readonly #starting = new Map<string, Promise<BackgroundProcess>>()
  #folderMade: Promise<void> | undefined

  /** `folder` holds what was written, for root alone. */
  constructor(folder: string) {
    this.#folder = folder
  }

  /** One that has the id already is answered as it is: the call was made twice. */
  async start(request: GuestStartProcess, login: LoginWish): Promise<ProcessInfo> {
    const { id } = request
    const known = this.#processes.get(id) ?? this.#starting.get(id)
    if (known) return (await known).info
    const starting = this.#start(request, login)
    this.#starting.set(id, starting)
    try {
      const started = await starting
      this.#processes.set(id, started)
      return started.info
    } finally {
      this.#starting.delete(id)
    }
  }

  list(): ProcessInfo[] {
    return [...this.#processes.values()].map(({ info }) => info).toReversed()
  }

  find(id: string): BackgroundProcess {
    const found = this.#processes.get(id)
    if (!found) throw new Refusal('not_found', `there is no process ${id}`)
    return found
  }

  async #start(
    { id, command, cwd: wished = '.', env }: GuestStartProcess,
    login: LoginWish,
  ): Promise<BackgroundProcess> {
    const { user } = login
    const cwd = resolve(user.home, wished)
    const environment: Record<string, string> = { ...loginEnvironment(login), ...env }
    checkCommand(user, command[0] ?? '', { cwd, path: environment['PATH'] ?? '' })
    const exited = [...this.#processes.values()].filter(({ hasExited }) => hasExited)
    if (this.#processes.size - exited.length + this.#starting.size >= maxRunning) {
      throw new Refusal('conflict', `${maxRunning} processes run in the background; end one first`)
    }
    await this.#forget(exited.slice(0, Math.max(0, exited.length - maxExited)))
    await (this.#folderMade ??= makeEmpty(this.#folder))
    const child = await startCommand(argvFor(user, command), { cwd, environment, stdin: 'pipe' })
    const logOf = (name: string) => new LogFile(join(this.#folder, `${id}.${name}`), logBytes)
    const logs = { stdout: logOf('stdout'), stderr: logOf('stderr') }
    return new BackgroundProcess({ id, command, user: user.name, cwd }, child, logs)
  }

  async #forget(exited: readonly BackgroundProcess[]): Promise<void> {
    for (const { info, logs } of exited) {
      this.#processes.delete(info.id)
      await Promise.all([logs.stdout.remove(), logs.stderr.remove()])
    }
  }
}

/** What an earlier run of the machine, or the machine that the disk came from, left there is nobody's. */
async function makeEmpty(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true })
    await mkdir(folder, { recursive: true, mode: 0o700 })
  } catch (error) {
    // A full disk loses what is written, not the process.
    console.error('the folder of process logs could not be made', error)
  }
}
