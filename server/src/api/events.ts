import type { events } from '@computer/contract'
import type { App } from '../app.ts'
import { listEvents } from '../domain/events.ts'
import type { Routes } from './route.ts'

export function eventRoutes(app: Pick<App, 'db'>): Routes<typeof events> {
  return {
    list: async (actor, { params, query }) => {
      const page = await listEvents(app.db, actor, params.machine_id, query)
      const data = page.data.map((row) => ({
        ...row,
        occurred_at: row.occurred_at.toISOString(),
      }))
      return { ...page, data }
    },
  }
}
