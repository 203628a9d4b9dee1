import { mkdirSync } from 'node:fs'
import {
  SupervisedProcess,
  type Backoff,
  type Folders,
  type Program,
} from './supervised-process.ts'
import type { Terminal } from './terminal.ts'

/*
 * What `computer up` does once the data folder is its own: starts programs in order, keeps each alive,
 * and stops them in the reverse order. Programs have sessions of their own and log to
 * <data>/logs/NAME.log; <data>/run/NAME.pid names each, so that the start after a crash finds and
 * ends what the crash left behind (leftovers.ts). Machines belong to none of them and run on.
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

  /** Starts programs side by side and resolves when all are ready. */
  async start(programs: readonly Program[], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const started = programs.map(
      (program) => new SupervisedProcess(program, this.#folders, this.#terminal, this.#backoff),
    )
    this.#processes.push(...started)
    for (const running of started) running.start()
    const delays = new Map<string, string | null>()
    const tell = (name: string) => (delay: string | null) => {
      delays.set(name, delay)
      this.#showDelays(delays)
    }
    await Promise.all(started.map((running) => running.waitReady(signal, tell(running.name))))
  }

  /** Last started, first stopped. */
  async stop(): Promise<void> {
    for (const running of this.#processes.toReversed()) {
      this.#terminal.wait(`stopping ${running.name}`)
      await running.stop()
    }
  }

  /** Ends all at once. A `stop` that is under way resolves soon after. */
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
