import type { App } from '../../app.ts'
import type { MachineRow } from '../../db/database.ts'
import { readLease, type Lease } from '../../domain/control/lease-row.ts'
import { readMachine, type MachineKey } from '../../domain/find-machine.ts'
import { coalesce } from '../../pace.ts'

/** Bounds the delay when a NOTIFY is lost. */
const pollMs = 2_000
const minExpiryWaitMs = 10

export type MachineSnapshot = {
  /** Undefined once it is deleted. */
  readonly machine: MachineRow | undefined
  readonly lease: Lease
  /** When the read began (performance.now). */
  readonly atMs: number
}

/**
 * Reads the rows of a machine and its lease after every notification, when the lease expires, and as a
 * poll. Reads never overlap, so snapshots reach the listener in order.
 */
export class MachineWatch implements Disposable {
  readonly #app: Pick<App, 'db' | 'log'>
  readonly #key: MachineKey
  readonly #onSnapshot: (snapshot: MachineSnapshot) => void
  readonly #poll: NodeJS.Timeout
  readonly #unsubscribe: () => void
  #expiry: NodeJS.Timeout | undefined
  #isDisposed = false
  /** Reads now, or right after the read that is in progress. */
  readonly refresh = coalesce(() => this.#refresh())

  constructor(
    app: Pick<App, 'db' | 'changes' | 'log'>,
    key: MachineKey,
    onSnapshot: (snapshot: MachineSnapshot) => void,
  ) {
    this.#app = app
    this.#key = key
    this.#onSnapshot = onSnapshot
    this.#poll = setInterval(this.refresh, pollMs)
    this.#unsubscribe = app.changes.subscribe((id) => {
      if (id === key.id) this.refresh()
    })
    this.refresh()
  }

  [Symbol.dispose](): void {
    this.#unsubscribe()
    clearInterval(this.#poll)
    clearTimeout(this.#expiry)
    this.#isDisposed = true
  }

  async #refresh(): Promise<void> {
    if (this.#isDisposed) return
    try {
      const snapshot = await this.#read()
      if (this.#isDisposed) return
      this.#refreshOnExpiry(snapshot.lease)
      this.#onSnapshot(snapshot)
    } catch (error) {
      this.#app.log.warn(
        { err: error, machine_id: this.#key.id },
        'could not refresh machine state; will retry',
      )
    }
  }

  async #read(): Promise<MachineSnapshot> {
    const atMs = performance.now()
    const [machine, lease] = await Promise.all([
      readMachine(this.#app.db, this.#key),
      readLease(this.#app.db, this.#key.id),
    ])
    return { machine, lease, atMs }
  }

  #refreshOnExpiry({ holder, remainingMs }: Lease): void {
    clearTimeout(this.#expiry)
    if (!holder) return
    this.#expiry = setTimeout(this.refresh, Math.max(remainingMs, minExpiryWaitMs))
  }
}
