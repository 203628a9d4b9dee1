import type { events } from '@computer/contract'
import type { App } from '../app.ts'
import { listEvents } from '../domain/events/events.ts'
import { showEvent } from '../domain/events/show-event.ts'
import type { Routes } from './route.ts'
import { pageToWire } from './to-wire.ts'

export function eventRoutes(app: Pick<App, 'db'>): Routes<typeof events> {
  return {
    list: async (actor, { params, query }) =>
      pageToWire(await listEvents(app.db, actor, params.machine_id, query), showEvent),
  }
}
