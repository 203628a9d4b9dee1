import { mkdirSync } from 'node:fs'
import {
  SupervisedProcess,
  type Backoff,
  type Folders,
  type Program,
} from './supervised-process.ts'
import type { Terminal } from './terminal.ts'

/*
 * Starts the programs of a server in order, keeps each running, and stops them in the reverse order. They
 * have sessions of their own and logs in <data>/logs. <data>/run/NAME.pid records each process,
 * so that the start after a crash can end the leftovers (leftovers.ts). Machines belong to none of them
 * and keep running.
 */
export class Supervisor {
  readonly #folders: Folders
  readonly #terminal: Terminal
  readonly #backoff: Backoff | undefined
  readonly #processes: SupervisedProcess[] = []

  constructor(folders: Folders, terminal: Terminal, backoff?: Backoff) {
    this.#folders = folders
    this.#terminal = terminal
    this.#backoff = backoff
    mkdirSync(folders.runDir, { recursive: true, mode: 0o700 })
    mkdirSync(folders.logDir, { recursive: true, mode: 0o700 })
  }

  /** Starts programs concurrently. Resolves when all are ready. */
  async start(programs: readonly Program[], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const started = programs.map(
      (program) => new SupervisedProcess(program, this.#folders, this.#terminal, this.#backoff),
    )
    this.#processes.push(...started)
    for (const running of started) running.start()
    const delays = new Map<string, string | null>()
    const onDelayOf = (name: string) => (delay: string | null) => {
      delays.set(name, delay)
      this.#showDelays(delays)
    }
    await Promise.all(started.map((running) => running.waitReady(signal, onDelayOf(running.name))))
  }

  /** Stops the program that was started last first. */
  async stop(): Promise<void> {
    for (const running of this.#processes.toReversed()) {
      this.#terminal.wait(`stopping ${running.name}`)
      await running.stop()
    }
  }

  /** Kills all programs. A `stop` in progress resolves soon after. */
  kill(): void {
    for (const running of this.#processes) running.kill()
  }

  #showDelays(delays: ReadonlyMap<string, string | null>): void {
    const waiting = [...delays].filter(([, delay]) => delay !== null)
    const reasons = [...new Set(waiting.map(([, delay]) => delay))]
    if (waiting.length === 0) return
    const names = waiting.map(([name]) => name).join(', ')
    this.#terminal.wait(`waiting for ${names}: ${reasons.join('; ')}`)
  }
}
