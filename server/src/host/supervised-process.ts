import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { Command } from './command.ts'
import { forgetProcess, recordProcess, sendSignal } from './process-record.ts'
import { logFilePath } from '../log-file.ts'
import { ProcessLog, readLastLines, trimLog } from './process-log.ts'
import type { Terminal } from './terminal.ts'

export type Program = {
  readonly name: string
  command(): Command
  /** Called before every start, including restarts. */
  prepare?(): Promise<void>
  /** The reason why the program is not ready yet; null when it is. */
  findDelay(): Promise<string | null>
  /**
   * Where its log is. By default, that is what it prints, in NAME.log. `own`: it keeps NAME.log by itself, and what else it
   * prints, such as its last words, is in NAME.err.log. `passed`: it prints its log to our own output.
   */
  readonly log?: 'own' | 'passed'
  /** Paths of logs that the program opens by itself. They are bounded as its output is. */
  readonly ownLogs?: readonly string[]
}

export type Folders = {
  readonly runDir: string
  readonly logDir: string
  /** For tests: less than a log usually has when it is moved. */
  readonly maxLogBytes?: number
}

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
  /** What it prints; null if that goes to our own output. */
  readonly #output: ProcessLog | null
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
    this.#output = program.log === 'passed' ? null : new ProcessLog(outputPath(program, folders))
  }

  start(): void {
    this.#trimLogs()
    const trimming = setInterval(() => this.#trimLogs(), trimEveryMs)
    trimming.unref()
    this.#running = this.#keepRunning().finally(() => {
      clearInterval(trimming)
      this.#output?.close()
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
        throw new Error(`${this.name} keeps failing${this.#describeLog()}`)
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
    const printed = this.#output ? [this.#output.path] : []
    for (const path of [...printed, ...(this.#program.ownLogs ?? [])]) {
      trimLog(path, this.#folders.maxLogBytes)
    }
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
          `${this.name} has failed ${this.#failures} times in a row${this.#describeLog()}`,
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
      stdio: this.#output
        ? ['ignore', this.#output.file, this.#output.file]
        : ['ignore', 'inherit', 'inherit'],
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

  /** Where its log is, with the end of what is there. */
  #describeLog(): string {
    if (!this.#output) return '; its log is in the output of this command'
    const path = logFilePath(this.#folders.logDir, this.name)
    const logs = this.#program.log === 'own' ? [path, this.#output.path] : [path]
    const lines = logs.flatMap((one) => readLastLines(one, 10)).map((line) => `    ${line}`)
    return ` (${path}):\n${lines.length > 0 ? lines.join('\n') : '    (no output)'}`
  }
}

function outputPath({ name, log }: Program, { logDir }: Folders): string {
  return logFilePath(logDir, log === 'own' ? `${name}.err` : name)
}

function inSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
