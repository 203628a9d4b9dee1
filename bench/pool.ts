import { pino } from 'pino'
import type { ApiClient } from '../e2e/harness/api.ts'
import { eventually } from '../e2e/harness/polling.ts'
import { openDatabase } from '../server/src/db/database.ts'
import { listWarm } from '../server/src/domain/machines/warm-machines.ts'
import { databaseUrl } from '../server/src/host/postgres.ts'
import { openIncus } from './incus.ts'
import { polling, type Machine } from './machine.ts'
import type { Sample } from './measure.ts'
import { findInit, readGuestMemory } from './processes.ts'
import type { FigureRow } from './row.ts'
import { openServerWithPool } from './server.ts'

/** A server that keeps one machine warm, beside the measured server, which keeps none. */
export type Pool = AsyncDisposable & {
  /** Measures once a machine waits, and says so if the machine that `work` made is another. */
  take(work: (api: ApiClient) => Promise<{ sample: Sample; machine: Machine }>): Promise<Sample>
  /** How many creates found the machine that waited, and what it holds in memory. */
  figures(id: string): Promise<FigureRow[]>
}

export async function openPool(): Promise<Pool> {
  const server = await openServerWithPool()
  const url = databaseUrl(server.dataDir)
  const db = openDatabase(url, { log: pino({ level: 'silent' }), maxConnections: 1 })
  const find = async () => (await listWarm(db)).find(({ state }) => state === 'ready')
  const waitUntilReady = () => eventually('a machine waits', find, polling)
  const count = { creates: 0, hits: 0 }
  return {
    async take(work) {
      const { id } = await waitUntilReady()
      const { sample, machine } = await work(server.api)
      count.creates += 1
      if (machine.id === id) count.hits += 1
      // Its successor starts now, which must not disturb the next measurement.
      await waitUntilReady()
      return machine.id === id ? sample : { ...sample, wrong: 'it was not the machine that waited' }
    },
    async figures(id) {
      const { id: machineId, image_id: imageId } = await waitUntilReady()
      await using incus = await openIncus(server.dataDir, imageId)
      const { project, name } = await incus.instanceOf(machineId)
      const { workingSetMb } = readGuestMemory(await findInit(incus, project, name))
      const rate = (100 * count.hits) / count.creates
      return [
        { kind: 'figure', id, what: 'creates that found a machine', value: rate, unit: '%' },
        {
          kind: 'figure',
          id,
          what: 'working set of one that waits',
          value: workingSetMb,
          unit: 'MB',
        },
      ]
    },
    async [Symbol.asyncDispose]() {
      await db.destroy()
      await server[Symbol.asyncDispose]()
    },
  }
}
