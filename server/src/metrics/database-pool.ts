import { Gauge } from 'prom-client'
import type { Metrics } from './metrics.ts'

type Pool = {
  readonly totalCount: number
  readonly idleCount: number
  readonly waitingCount: number
  readonly options: { readonly max: number }
}

/** Reads the pool of database connections at each scrape. */
export function measurePool({ registry }: Pick<Metrics, 'registry'>, pool: Pool): void {
  new Gauge({
    name: 'computer_database_connections',
    help: 'Connections of this process to the database, by state (idle, busy).',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      this.set({ state: 'idle' }, pool.idleCount)
      this.set({ state: 'busy' }, pool.totalCount - pool.idleCount)
    },
  })
  new Gauge({
    name: 'computer_database_connections_max',
    help: 'The most connections that this process opens to the database.',
    registers: [registry],
    collect() {
      this.set(pool.options.max)
    },
  })
  new Gauge({
    name: 'computer_database_requests_waiting',
    help: 'Requests of this process that wait for a connection to the database.',
    registers: [registry],
    collect() {
      this.set(pool.waitingCount)
    },
  })
}
