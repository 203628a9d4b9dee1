import type { AuditEvent, auditEvents } from '@computer/contract'
import type { App } from '../app.ts'
import type { AuditEventRow } from '../db/database.ts'
import { listAuditEvents } from '../domain/accounts/audit-events.ts'
import type { Routes } from './route.ts'

export function auditEventRoutes(app: Pick<App, 'db'>): Routes<typeof auditEvents> {
  return {
    list: async (actor, { query }) => {
      const page = await listAuditEvents(app.db, actor, query)
      return { ...page, data: page.data.map(show) }
    },
  }
}

function show(row: AuditEventRow): AuditEvent {
  return {
    ...row,
    actor: named(row.actor_type, row.actor_id, row.actor_name),
    target: named(row.target_type, row.target_id, row.target_name),
    occurred_at: row.occurred_at.toISOString(),
  }
}

function named<Type extends string>(type: Type | null, id: string | null, name: string | null) {
  return type !== null && id !== null && name !== null ? { type, id, name } : null
}
