import type { MachineId, OrganizationId, PreviewId } from '@computer/contract'
import type { App } from '../../app.ts'
import {
  addEgress,
  noteRequests,
  repeatEgressForMs,
  type EgressCount,
} from '../../domain/previews/egress.ts'
import type { PreviewTarget } from '../../domain/previews/hosts.ts'
import { newUlid } from '../../ids.ts'

/** What a kill of this process loses of the counts, at most. */
const flushEveryMs = 5_000

type Batch = {
  readonly id: string
  readonly counts: readonly EgressCount[]
  /** When it was first sent to the database, which may have taken it without being heard. */
  triedAt: number | null
}

/**
 * What previews served: the bytes of bodies and of WebSockets that went out, by machine, and when each
 * was last reached. Gathered here and written in batches. A batch is written again until the database
 * has confirmed it, under an id of its own by which it counts once. One that stays in doubt for too long
 * to know it again is given up: nothing is counted twice.
 */
export class Traffic implements AsyncDisposable {
  readonly #app: Pick<App, 'db' | 'log'>
  readonly #bytes = new Map<MachineId, { organizationId: OrganizationId; bytes: number }>()
  readonly #reached = new Map<PreviewId, number>()
  readonly #unwritten: Batch[] = []
  readonly #timer: NodeJS.Timeout
  #flushing: Promise<void> | null = null

  constructor(app: Pick<App, 'db' | 'log'>) {
    this.#app = app
    this.#timer = setInterval(() => void this.flush(), flushEveryMs)
  }

  reached({ id }: PreviewTarget): void {
    this.#reached.set(id, performance.now())
  }

  served({ machine_id: id, organization_id: organizationId }: PreviewTarget, bytes: number): void {
    const known = this.#bytes.get(id)
    if (known) known.bytes += bytes
    else if (bytes > 0) this.#bytes.set(id, { organizationId, bytes })
  }

  /** Resolves when all that was told before is written, or that failed and stays for the next time. */
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
    if (counts.length > 0) this.#unwritten.push({ id: newUlid(), counts, triedAt: null })
    const now = performance.now()
    const reached = new Map([...this.#reached].map(([id, at]) => [id, now - at]))
    this.#reached.clear()
    try {
      for (let batch = this.#unwritten[0]; batch; batch = this.#unwritten[0]) {
        batch.triedAt ??= now
        if (now - batch.triedAt < repeatEgressForMs) await addEgress(db, batch.id, batch.counts)
        else log.error({ flush_id: batch.id }, 'egress was given up that may or may not be counted')
        this.#unwritten.shift()
      }
      await noteRequests(db, reached)
    } catch (error) {
      log.warn({ err: error }, 'what previews served was not noted; the next time tries again')
    }
  }
}
