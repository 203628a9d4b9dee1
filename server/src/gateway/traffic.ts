import type { MachineId, OrganizationId, PreviewId } from '@computer/contract'
import type { App } from '../app.ts'
import {
  addEgress,
  noteRequests,
  repeatEgressForMs,
  type EgressCount,
} from '../domain/previews/egress.ts'
import type { PreviewTarget } from '../domain/previews/hosts.ts'
import { newUlid } from '../ids.ts'

/** Upper bound on what is lost if the process is killed. */
const flushEveryMs = 5_000

type Served = Pick<EgressCount, 'machineId' | 'organizationId'>

type Batch = {
  readonly id: string
  readonly counts: readonly EgressCount[]
  /** When it was first written. The write may have succeeded without a confirmation. */
  firstTriedMs: number | null
}

/**
 * Counts the bytes that were served of each machine: bodies of responses and WebSockets of previews, and
 * the payload of screens and terminals; and when each preview was last requested. Counts are written in batches. A batch is retried until the database
 * confirms it; its id makes it count once. After `repeatEgressForMs` the id may have been compacted
 * away, so the batch is dropped instead of risking to count it twice.
 */
export class Traffic implements AsyncDisposable {
  readonly #app: Pick<App, 'db' | 'log'>
  readonly #bytes = new Map<MachineId, { organizationId: OrganizationId; bytes: number }>()
  readonly #requestedMs = new Map<PreviewId, number>()
  readonly #unwritten: Batch[] = []
  readonly #timer: NodeJS.Timeout
  #flushing: Promise<void> | null = null

  constructor(app: Pick<App, 'db' | 'log'>) {
    this.#app = app
    this.#timer = setInterval(() => void this.flush(), flushEveryMs)
  }

  countRequest({ id }: PreviewTarget): void {
    this.#requestedMs.set(id, performance.now())
  }

  countServed({ machineId, organizationId }: Served, bytes: number): void {
    const known = this.#bytes.get(machineId)
    if (known) known.bytes += bytes
    else if (bytes > 0) this.#bytes.set(machineId, { organizationId, bytes })
  }

  /** Resolves when everything counted before is written, or kept for a retry. */
  async flush(): Promise<void> {
    while (this.#flushing) await this.#flushing
    this.#flushing = this.#write().finally(() => (this.#flushing = null))
    return this.#flushing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
  }

  async #write(): Promise<void> {
    const { db, log } = this.#app
    const counts = [...this.#bytes].map(([machineId, count]) => ({ machineId, ...count }))
    this.#bytes.clear()
    if (counts.length > 0) this.#unwritten.push({ id: newUlid(), counts, firstTriedMs: null })
    const now = performance.now()
    const ageMs = new Map([...this.#requestedMs].map(([id, at]) => [id, now - at]))
    this.#requestedMs.clear()
    try {
      for (let batch = this.#unwritten[0]; batch; batch = this.#unwritten[0]) {
        batch.firstTriedMs ??= now
        if (now - batch.firstTriedMs < repeatEgressForMs) {
          await addEgress(db, batch.id, batch.counts)
        } else {
          log.error({ flush_id: batch.id }, 'dropped an unconfirmed batch of egress counts')
        }
        this.#unwritten.shift()
      }
      await noteRequests(db, ageMs)
    } catch (error) {
      log.warn({ err: error }, 'could not write counts of traffic; will retry')
    }
  }
}
