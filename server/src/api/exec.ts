import type { exec } from '@computer/contract'
import type { App } from '../app.ts'
import { askGuest } from '../domain/guests/calls.ts'
import type { Routes } from './route.ts'

export function execRoutes(app: Pick<App, 'db' | 'guests'>): Routes<typeof exec> {
  return {
    run: (actor, { params, body, signal }) =>
      askGuest(app, actor, params.machine_id, (ref) => app.guests.exec(ref, body, { signal })),
  }
}
