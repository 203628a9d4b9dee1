import type { AuditEvent, AuditEventType, OrganizationId } from '@computer/contract'
import type { Actor } from '../../actor.ts'
import type { Database } from '../../db/database.ts'
import { newId } from '../../ids.ts'
import { newestFirst, type PageRequest } from '../page.ts'

/**
 * Adds an entry to an organization's audit log. Pass the transaction of the change, so that both commit
 * together. Names are for display: an email, a key's name; never a secret.
 */
export async function noteAudit(
  db: Database,
  event: {
    readonly organizationId: OrganizationId
    readonly type: AuditEventType
    readonly actor: NonNullable<AuditEvent['actor']> | null
    readonly address: string | null
    readonly target?: NonNullable<AuditEvent['target']> | null
    readonly outcome?: AuditEvent['outcome']
    readonly message?: string | null
  },
): Promise<void> {
  const { actor, target } = event
  await db
    .insertInto('audit_events')
    .values({
      id: newId('aud'),
      organization_id: event.organizationId,
      type: event.type,
      actor_type: actor?.type ?? null,
      actor_id: actor?.id ?? null,
      actor_name: actor?.name ?? null,
      address: event.address,
      target_type: target?.type ?? null,
      target_id: target?.id ?? null,
      target_name: target?.name ?? null,
      outcome: event.outcome ?? 'succeeded',
      message: event.message ?? null,
    })
    .execute()
}

/** The fields of an entry that describe the caller. */
export function auditedBy(actor: Actor) {
  const { organizationId, principal, address } = actor
  return { organizationId, actor: principal, address }
}

export async function listAuditEvents(
  db: Database,
  actor: Actor,
  filter: PageRequest & { readonly type?: AuditEventType | undefined },
) {
  const rows = db
    .selectFrom('audit_events')
    .selectAll()
    .where('organization_id', '=', actor.organizationId)
    .$if(filter.type !== undefined, (query) => query.where('type', '=', filter.type!))
  return newestFirst('aud', filter, rows)
}
