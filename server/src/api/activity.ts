import type { activity } from '@computer/contract'
import type { App } from '../app.ts'
import { listActivity } from '../domain/activity/activity.ts'
import { showActivity } from '../domain/activity/show-activity.ts'
import type { Routes } from './route.ts'
import { pageToWire } from './to-wire.ts'

export function activityRoutes(app: Pick<App, 'db'>): Routes<typeof activity> {
  return {
    list: async (actor, { params, query }) =>
      pageToWire(await listActivity(app.db, actor, params.machine_id, query), showActivity),
  }
}
