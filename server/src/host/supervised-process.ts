import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Command } from './command.ts'
import { forgetProcess, recordProcess, sendSignal } from './process-record.ts'
import { ProcessLog } from './process-log.ts'
import type { Terminal } from './terminal.ts'

/** One program of the server. */
export type Program = {
  readonly name: string
  command(): Command
  /** Before every start, the first and those after a death. */
  prepare?(): Promise<void>
  /** What the program still waits for; null when it is ready. */
  findDelay(): Promise<string | null>
}

export type Folders = { readonly runDir: string; readonly logDir: string }

export type Backoff = {
  readonly firstMs: number
  readonly mostMs: number
  /** A program that lived this long has recovered: its next death counts as its first. */
  readonly forgetMs: number
}

const patient: Backoff = { firstMs: 200, mostMs: 10_000, forgetMs: 30_000 }
const deathsToReport = 5
const graceMs = 15_000
const trimEveryMs = 30_000

/** Keeps one program alive until `stop`: starts it again when it ends, later each time. */
export class SupervisedProcess {
  readonly name: string
  readonly #program: Program
  readonly #folders: Folders
  readonly #terminal: Terminal
  readonly #backoff: Backoff
  readonly #log: ProcessLog
  readonly #stopping = new AbortController()
  #child: ChildProcess | null = null
  #command: Command | null = null
  #deaths = 0
  #life: Promise<void> = Promise.resolve()

  constructor(program: Program, folders: Folders, terminal: Terminal, backoff: Backoff = patient) {
    this.name = program.name
    this.#program = program
    this.#folders = folders
    this.#terminal = terminal
    this.#backoff = backoff
    this.#log = new ProcessLog(join(folders.logDir, `${program.name}.log`))
  }

  start(): void {
    const trimming = setInterval(() => this.#log.trim(), trimEveryMs)
    trimming.unref()
    this.#life = this.#live().finally(() => {
      clearInterval(trimming)
      this.#log.close()
    })
  }

  /** Rejects when the program dies again and again, with its last words. */
  async waitReady(signal: AbortSignal, tell: (delay: string | null) => void): Promise<void> {
    for (;;) {
      signal.throwIfAborted()
      const reason = await this.#program.findDelay()
      tell(reason)
      if (reason === null && this.#child) return
      if (this.#deaths >= deathsToReport) {
        throw new Error(`${this.name} does not stay up (${this.#log.path}):\n${this.#lastWords()}`)
      }
      await delay(100, undefined, { signal })
    }
  }

  /** Resolves when the program is down; it has `graceMs` to go by itself. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#signal(this.#command?.stopSignal ?? 'SIGTERM')
    const overdue = setTimeout(() => {
      this.#terminal.say(`${this.name} does not end by itself: killing it`)
      this.#signal('SIGKILL')
    }, graceMs)
    await this.#life
    clearTimeout(overdue)
  }

  kill(): void {
    this.#stopping.abort()
    this.#signal('SIGKILL')
  }

  async #live(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      const startedAt = performance.now()
      const how = await this.#runOnce().catch((error: Error) => `could not start: ${error.message}`)
      if (signal.aborted) return
      const livedMs = performance.now() - startedAt
      this.#deaths = livedMs > this.#backoff.forgetMs ? 1 : this.#deaths + 1
      const pauseMs = Math.min(
        this.#backoff.firstMs * 2 ** (this.#deaths - 1),
        this.#backoff.mostMs,
      )
      this.#terminal.say(
        `${this.name} ${how} after ${inSeconds(livedMs)}; starting it again in ${inSeconds(pauseMs)}`,
      )
      if (this.#deaths % deathsToReport === 0) {
        this.#terminal.say(
          `${this.name} has died ${this.#deaths} times in a row (${this.#log.path}):\n${this.#lastWords()}`,
        )
      }
      await delay(pauseMs, undefined, { signal }).catch(() => {})
    }
  }

  /** Resolves to the way it ended. */
  async #runOnce(): Promise<string> {
    await this.#program.prepare?.()
    if (this.#stopping.signal.aborted) return 'was not started'
    const command = this.#program.command()
    const [program, ...args] = command.argv
    // Out of the terminal's group: a Ctrl-C reaches the supervisor alone, which keeps the order.
    const child = spawn(program!, args, {
      detached: true,
      stdio: ['ignore', this.#log.file, this.#log.file],
      env: command.env ?? process.env,
    })
    this.#child = child
    this.#command = command
    const exited = once(child, 'exit') as Promise<[number | null, string | null]>
    exited.catch(() => {})
    try {
      if (child.pid) await this.#record(child.pid)
      const [code, signal] = await exited
      return signal ? `was ended by ${signal}` : `ended with exit code ${code}`
    } finally {
      this.#child = null
      forgetProcess(this.#folders.runDir, this.name)
    }
  }

  /** Without its record the next start would not find the process, so it is not left running. */
  async #record(pid: number): Promise<void> {
    try {
      await recordProcess(this.#folders.runDir, this.name, pid)
    } catch (error) {
      this.#signal('SIGKILL')
      throw error
    }
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.#child?.pid) sendSignal(this.#child.pid, signal)
  }

  #lastWords(): string {
    const lines = this.#log.lastLines(10)
    return lines.length > 0 ? lines.map((line) => `    ${line}`).join('\n') : '    (no output)'
  }
}

function inSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
