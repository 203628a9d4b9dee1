import { mkdirSync } from 'node:fs'
import { SupervisedRole, type Backoff, type Folders, type Role } from './role.ts'
import type { Terminal } from './terminal.ts'

/*
 * What `computer up` does once the data folder is its own: starts roles in order, keeps each alive,
 * and stops them in the reverse order. Roles have sessions of their own and log to
 * <data>/logs/NAME.log; <data>/run/NAME.pid names each, so that the start after a crash finds and
 * ends what the crash left behind (leftovers.ts). Machines belong to none of them and run on.
 */
export class Supervisor {
  readonly #folders: Folders
  readonly #terminal: Terminal
  readonly #backoff: Backoff | undefined
  readonly #roles: SupervisedRole[] = []

  constructor(folders: Folders, terminal: Terminal, backoff?: Backoff) {
    this.#folders = folders
    this.#terminal = terminal
    this.#backoff = backoff
    mkdirSync(folders.runDir, { recursive: true, mode: 0o700 })
    mkdirSync(folders.logDir, { recursive: true, mode: 0o700 })
  }

  /** Starts roles side by side and resolves when all are ready. */
  async start(roles: readonly Role[], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const started = roles.map(
      (role) => new SupervisedRole(role, this.#folders, this.#terminal, this.#backoff),
    )
    this.#roles.push(...started)
    for (const role of started) role.start()
    const delays = new Map<string, string | null>()
    const tell = (name: string) => (delay: string | null) => {
      delays.set(name, delay)
      this.#showDelays(delays)
    }
    await Promise.all(started.map((role) => role.waitReady(signal, tell(role.name))))
  }

  /** Last started, first stopped. */
  async stop(): Promise<void> {
    for (const role of this.#roles.toReversed()) {
      this.#terminal.wait(`stopping ${role.name}`)
      await role.stop()
    }
  }

  /** Ends all at once. A `stop` that is under way resolves soon after. */
  kill(): void {
    for (const role of this.#roles) role.kill()
  }

  #showDelays(delays: ReadonlyMap<string, string | null>): void {
    const waiting = [...delays].filter(([, delay]) => delay !== null)
    const reasons = [...new Set(waiting.map(([, delay]) => delay))]
    if (waiting.length === 0) return
    const names = waiting.map(([name]) => name).join(', ')
    this.#terminal.wait(`waiting for ${names}: ${reasons.join('; ')}`)
  }
}
