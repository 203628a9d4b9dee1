import type { usage } from '@computer/contract'
import type { App } from '../app.ts'
import { listUsage } from '../domain/billing/usage-records.ts'
import { readSeries } from '../domain/billing/usage-series.ts'
import type { Routes } from './route.ts'
import { pageToWire, rowToWire } from './to-wire.ts'

export function usageRoutes(app: Pick<App, 'db'>): Routes<typeof usage> {
  return {
    list: async (actor, { query }) =>
      pageToWire(await listUsage(app.db, actor, query), (record) => rowToWire(record)),
    async series(actor, { query }) {
      const { bucketSeconds, points } = await readSeries(app.db, actor, query)
      return { bucket_seconds: bucketSeconds, data: points.map((point) => rowToWire(point)) }
    },
  }
}
