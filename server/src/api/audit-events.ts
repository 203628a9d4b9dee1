import type { AuditEvent, auditEvents } from '@computer/contract'
import type { App } from '../app.ts'
import type { AuditEventRow } from '../db/database.ts'
import { listAuditEvents } from '../domain/accounts/audit-events.ts'
import type { Routes } from './route.ts'
import { showReference } from '../domain/show-reference.ts'
import { pageToWire, rowToWire } from './to-wire.ts'

export function auditEventRoutes(app: Pick<App, 'db'>): Routes<typeof auditEvents> {
  return {
    list: async (actor, { query }) =>
      pageToWire(await listAuditEvents(app.db, actor, query), toWire),
  }
}

function toWire(row: AuditEventRow): AuditEvent {
  return {
    ...rowToWire(row),
    actor: showReference(row.actor_type, row.actor_id, row.actor_name),
    target: showReference(row.target_type, row.target_id, row.target_name),
  }
}
