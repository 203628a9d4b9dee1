import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Command } from './command.ts'
import { forgetProcess, recordProcess, sendSignal } from './process-record.ts'
import { ProcessLog, trimLog } from './process-log.ts'
import type { Terminal } from './terminal.ts'

export type Program = {
  readonly name: string
  command(): Command
  /** Called before every start, including restarts. */
  prepare?(): Promise<void>
  /** The reason why the program is not ready yet; null when it is. */
  findDelay(): Promise<string | null>
  /** Paths of logs that the program opens by itself. They are bounded as its output is. */
  readonly ownLogs?: readonly string[]
}

export type Folders = { readonly runDir: string; readonly logDir: string }

export type Backoff = {
  readonly firstMs: number
  readonly mostMs: number
  /** A program that ran this long has recovered: the next failure counts as its first. */
  readonly recoveredMs: number
}

const defaultBackoff: Backoff = { firstMs: 200, mostMs: 10_000, recoveredMs: 30_000 }
const failuresToReport = 5
const graceMs = 15_000
const trimEveryMs = 30_000

/** Keeps one program running until `stop`: restarts it when it ends, with exponential back-off. */
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
  #failures = 0
  #running: Promise<void> = Promise.resolve()

  constructor(
    program: Program,
    folders: Folders,
    terminal: Terminal,
    backoff: Backoff = defaultBackoff,
  ) {
    this.name = program.name
    this.#program = program
    this.#folders = folders
    this.#terminal = terminal
    this.#backoff = backoff
    this.#log = new ProcessLog(join(folders.logDir, `${program.name}.log`))
  }

  start(): void {
    this.#trimLogs()
    const trimming = setInterval(() => this.#trimLogs(), trimEveryMs)
    trimming.unref()
    this.#running = this.#keepRunning().finally(() => {
      clearInterval(trimming)
      this.#log.close()
    })
  }

  /** Rejects with the end of its log when the program fails repeatedly. */
  async waitReady(signal: AbortSignal, onDelay: (delay: string | null) => void): Promise<void> {
    for (;;) {
      signal.throwIfAborted()
      const reason = await this.#program.findDelay()
      onDelay(reason)
      if (reason === null && this.#child) return
      if (this.#failures >= failuresToReport) {
        throw new Error(`${this.name} keeps failing (${this.#log.path}):\n${this.#logTail()}`)
      }
      await delay(100, undefined, { signal })
    }
  }

  /** Stops the program, and kills it after `graceMs`. Resolves when it is down. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#signal(this.#command?.stopSignal ?? 'SIGTERM')
    const overdue = setTimeout(() => {
      this.#terminal.say(`${this.name} does not stop; killing it`)
      this.#signal('SIGKILL')
    }, graceMs)
    await this.#running
    clearTimeout(overdue)
  }

  kill(): void {
    this.#stopping.abort()
    this.#signal('SIGKILL')
  }

  #trimLogs(): void {
    for (const path of [this.#log.path, ...(this.#program.ownLogs ?? [])]) trimLog(path)
  }

  async #keepRunning(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      const startedAt = performance.now()
      const outcome = await this.#runOnce().catch(
        (error: Error) => `could not start: ${error.message}`,
      )
      if (signal.aborted) return
      const ranMs = performance.now() - startedAt
      this.#failures = ranMs > this.#backoff.recoveredMs ? 1 : this.#failures + 1
      const pauseMs = Math.min(
        this.#backoff.firstMs * 2 ** (this.#failures - 1),
        this.#backoff.mostMs,
      )
      this.#terminal.say(
        `${this.name} ${outcome} after ${inSeconds(ranMs)}; restarting it in ${inSeconds(pauseMs)}`,
      )
      if (this.#failures % failuresToReport === 0) {
        this.#terminal.say(
          `${this.name} has failed ${this.#failures} times in a row (${this.#log.path}):\n${this.#logTail()}`,
        )
      }
      await delay(pauseMs, undefined, { signal }).catch(() => {})
    }
  }

  /** Resolves to a description of how the program ended. */
  async #runOnce(): Promise<string> {
    await this.#program.prepare?.()
    if (this.#stopping.signal.aborted) return 'was not started'
    const command = this.#program.command()
    const [program, ...args] = command.argv
    // In a process group of its own, so that Ctrl-C reaches only the supervisor, which keeps the order.
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
      return signal ? `was killed by ${signal}` : `exited with code ${code}`
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

  #logTail(): string {
    const lines = this.#log.lastLines(10)
    return lines.length > 0 ? lines.map((line) => `    ${line}`).join('\n') : '    (no output)'
  }
}

function inSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
