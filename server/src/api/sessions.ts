import type { inputLease, Session, sessions } from '@computer/contract'
import type { App } from '../app.ts'
import { acquireLease, getLease, releaseLease } from '../domain/control/leases.ts'
import { listSessions, openSession, type SessionWithState } from '../domain/control/sessions.ts'
import { closeSession } from '../domain/control/session-closing.ts'
import { showLease } from '../http/show-lease.ts'
import type { Routes } from './route.ts'
import { pageToWire, rowToWire } from './to-wire.ts'

type Dependencies = Pick<App, 'db' | 'guests' | 'changes' | 'log'>

export function sessionRoutes(app: Dependencies): Routes<typeof sessions> {
  return {
    open: async (actor, { body, newId }) =>
      showSession(await openSession(app, actor, newId('ses'), body)),
    list: async (actor, { query }) =>
      pageToWire(await listSessions(app.db, actor, query), showSession),
    close: async (actor, { params }) =>
      showSession(await closeSession(app, actor, params.session_id)),
  }
}

export function inputLeaseRoutes(app: Dependencies): Routes<typeof inputLease> {
  return {
    acquire: async (actor, { params, body }) =>
      showLease(params.machine_id, await acquireLease(app, actor, params.machine_id, body)),
    get: async (actor, { params }) =>
      showLease(params.machine_id, await getLease(app.db, actor, params.machine_id)),
    release: async (actor, { params, query }) =>
      showLease(
        params.machine_id,
        await releaseLease(app, actor, params.machine_id, query.session_id),
      ),
  }
}

export function showSession(row: SessionWithState): Session {
  return {
    ...rowToWire(row),
    opened_by: { type: row.opened_by_type, id: row.opened_by_id, name: row.opened_by_name },
  }
}
