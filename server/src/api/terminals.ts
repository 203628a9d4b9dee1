import type { terminals } from '@computer/contract'
import type { App } from '../app.ts'
import {
  killTerminal,
  listTerminals,
  openTerminal,
  resizeTerminal,
} from '../domain/guests/terminals.ts'
import type { Routes } from './route.ts'
import { pageToWire } from './to-wire.ts'

export function terminalRoutes(app: Pick<App, 'db' | 'guests'>): Routes<typeof terminals> {
  return {
    open: (actor, { params, body, newId }) =>
      openTerminal(app, actor, params.machine_id, newId('trm'), body),
    list: async (actor, { params, query }) =>
      pageToWire(await listTerminals(app, actor, params.machine_id, query), (one) => one),
    resize: (actor, { params, body }) =>
      resizeTerminal(app, actor, params.machine_id, { ...body, id: params.terminal_id }),
    kill: async (actor, { params }) => {
      await killTerminal(app, actor, params.machine_id, params.terminal_id)
      return undefined
    },
  }
}
