import type { images } from '@computer/contract'
import type { App } from '../app.ts'
import { listImages } from '../domain/disks/images.ts'
import type { Routes } from './route.ts'
import { pageToWire, rowToWire } from './to-wire.ts'

export function imageRoutes(app: Pick<App, 'db'>): Routes<typeof images> {
  return {
    list: async (_actor, { query }) =>
      pageToWire(await listImages(app.db, query), (row) => ({
        ...rowToWire(row),
        default: row.is_default,
      })),
  }
}
