import type { exec } from '@computer/contract'
import type { App } from '../app.ts'
import { runCommand } from '../domain/guests/exec.ts'
import type { Routes } from './route.ts'

export function execRoutes(app: Pick<App, 'db' | 'guests'>): Routes<typeof exec> {
  return {
    run: (actor, { params, body, signal }) =>
      runCommand(app, actor, params.machine_id, body, { signal }),
  }
}
