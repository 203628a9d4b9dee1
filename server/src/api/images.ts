import type { images } from '@computer/contract'
import type { App } from '../app.ts'
import { listImages } from '../domain/disks/images.ts'
import type { Routes } from './route.ts'

export function imageRoutes(app: Pick<App, 'db'>): Routes<typeof images> {
  return {
    list: async (_actor, { query }) => {
      const page = await listImages(app.db, query)
      return {
        ...page,
        data: page.data.map((row) => ({
          ...row,
          default: row.is_default,
          created_at: row.created_at.toISOString(),
        })),
      }
    },
  }
}
