import type { events } from '@computer/contract'
import type { App } from '../app.ts'
import { listEvents } from '../domain/events/events.ts'
import { showEvent } from '../http/show-event.ts'
import type { Routes } from './route.ts'

export function eventRoutes(app: Pick<App, 'db'>): Routes<typeof events> {
  return {
    list: async (actor, { params, query }) => {
      const page = await listEvents(app.db, actor, params.machine_id, query)
      return { ...page, data: page.data.map(showEvent) }
    },
  }
}
