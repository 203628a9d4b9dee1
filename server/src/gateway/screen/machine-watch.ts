import type { App } from '../../app.ts'
import type { MachineRow } from '../../db/database.ts'
import { readMachine, type MachineKey } from '../../domain/find-machine.ts'
import { readLease, type Lease } from '../../domain/control/leases.ts'
import { oneAtATime } from '../../pace.ts'

/** What a lost hint may cost. */
const pollMs = 2_000

export type Seen = {
  /** Undefined: it is deleted. */
  readonly machine: MachineRow | undefined
  readonly lease: Lease
  /** When the look began, by the clock of this process (performance.now). */
  readonly atMs: number
}

/**
 * Looks at the rows of a machine and its lease: on every hint, when the lease runs out, and now and
 * then. One look at a time, each told to the listener, so that what it is told never goes back.
 */
export class MachineWatch implements Disposable {
  readonly #app: Pick<App, 'db' | 'log'>
  readonly #key: MachineKey
  readonly #onSeen: (seen: Seen) => void
  readonly #poll: NodeJS.Timeout
  readonly #unsubscribe: () => void
  #expiry: NodeJS.Timeout | undefined
  #isDisposed = false
  /** The look begins now, or when the one that is under way is over. */
  readonly look = oneAtATime(() => this.#look())

  constructor(
    app: Pick<App, 'db' | 'changes' | 'log'>,
    key: MachineKey,
    onSeen: (seen: Seen) => void,
  ) {
    this.#app = app
    this.#key = key
    this.#onSeen = onSeen
    this.#poll = setInterval(this.look, pollMs)
    this.#unsubscribe = app.changes.subscribe((id) => {
      if (id === key.id) this.look()
    })
    this.look()
  }

  [Symbol.dispose](): void {
    this.#unsubscribe()
    clearInterval(this.#poll)
    clearTimeout(this.#expiry)
    this.#isDisposed = true
  }

  async #look(): Promise<void> {
    if (this.#isDisposed) return
    try {
      const seen = await this.#read()
      if (this.#isDisposed) return
      this.#awaitExpiry(seen.lease)
      this.#onSeen(seen)
    } catch (error) {
      this.#app.log.warn(
        { err: error, machine_id: this.#key.id },
        'a machine was not looked after; the next look tries again',
      )
    }
  }

  async #read(): Promise<Seen> {
    const atMs = performance.now()
    const [machine, lease] = await Promise.all([
      readMachine(this.#app.db, this.#key),
      readLease(this.#app.db, this.#key.id),
    ])
    return { machine, lease, atMs }
  }

  #awaitExpiry({ holder, remainingMs }: Lease): void {
    clearTimeout(this.#expiry)
    if (holder) this.#expiry = setTimeout(this.look, Math.max(remainingMs, leastWaitMs))
  }
}

const leastWaitMs = 10
