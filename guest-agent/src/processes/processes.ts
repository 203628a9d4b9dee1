import type { Process as ProcessInfo } from '@computer/contract'
import type { GuestStartProcess } from '@computer/contract/guest-processes'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { argvFor, resolveCommand } from '../exec/command.ts'
import { shownCommand } from '../exec/shown-command.ts'
import { makeLogin, type LoginOptions } from '../exec/environment.ts'
import { startCommand } from '../exec/run.ts'
import { AgentError } from '../errors.ts'
import { LogFile } from './log-file.ts'
import { BackgroundProcess } from './process.ts'

const maxRunning = 256
const maxExited = 100
const logBytes = 16 * 1024 * 1024

/** The background commands of a machine and their output. */
export class Processes {
  readonly #folder: string
  readonly #processes = new Map<string, BackgroundProcess>()
  readonly #starting = new Map<string, Promise<BackgroundProcess>>()
  #folderReady: Promise<void> | undefined

  /** `folder` is for the output, readable by root alone. */
  constructor(folder: string) {
    this.#folder = folder
  }

  /** Idempotent: returns the process that has the id already. */
  async start(request: GuestStartProcess, login: LoginOptions): Promise<ProcessInfo> {
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
    return [...this.#processes.values()]
      .map(({ info }) => ({ ...info, command: shownCommand(info.command) }))
      .toReversed()
  }

  find(id: string): BackgroundProcess {
    const found = this.#processes.get(id)
    if (!found) throw new AgentError('not_found', `there is no process ${id}`)
    return found
  }

  async #start(
    { id, ...request }: GuestStartProcess,
    login: LoginOptions,
  ): Promise<BackgroundProcess> {
    const { user } = login
    const { command } = request
    const options = resolveCommand(makeLogin(login), request)
    const exited = [...this.#processes.values()].filter(({ hasExited }) => hasExited)
    if (this.#processes.size - exited.length + this.#starting.size >= maxRunning) {
      throw new AgentError(
        'conflict',
        `the machine runs ${maxRunning} background processes already; end one first`,
      )
    }
    await this.#discard(exited.slice(0, Math.max(0, exited.length - maxExited)))
    await (this.#folderReady ??= emptyFolder(this.#folder))
    const child = await startCommand(argvFor(user, command), { ...options, stdin: 'pipe' })
    const logOf = (name: string) => new LogFile(join(this.#folder, `${id}.${name}`), logBytes)
    const logs = { stdout: logOf('stdout'), stderr: logOf('stderr') }
    const start = { id, command, user: user.name, cwd: options.cwd }
    return new BackgroundProcess(start, child, logs)
  }

  async #discard(exited: readonly BackgroundProcess[]): Promise<void> {
    for (const { info, logs } of exited) {
      this.#processes.delete(info.id)
      await Promise.all([logs.stdout.remove(), logs.stderr.remove()])
    }
  }
}

/** Removes logs of an earlier boot, or of the machine that the disk was copied from. */
async function emptyFolder(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true })
    await mkdir(folder, { recursive: true, mode: 0o700 })
  } catch (error) {
    // Without it the output is lost, but the process runs.
    console.error('could not create the folder for process logs', error)
  }
}
