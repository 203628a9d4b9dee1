import { z } from 'zod'
import { AuditEventType } from './audit-event-types.ts'
import { endpoint } from './endpoint.ts'
import { AuditEventId, OrganizationId } from './ids.ts'
import { PageQuery, pageOf } from './list.ts'
import { Timestamp } from './text.ts'

export const AuditEvent = z
  .object({
    id: AuditEventId,
    organization_id: OrganizationId,
    type: AuditEventType,
    actor: z
      .object({ type: z.enum(['user', 'api_key', 'operator']), id: z.string(), name: z.string() })
      .nullable()
      .describe('Who did it. An operator did it on the server itself.'),
    address: z.string().nullable().describe('The address that the call came from.'),
    target: z
      .object({ type: z.string(), id: z.string(), name: z.string() })
      .nullable()
      .describe('What it was done to.'),
    outcome: z.enum(['succeeded', 'denied', 'failed']),
    message: z.string().nullable(),
    occurred_at: Timestamp,
  })
  .meta({ id: 'AuditEvent' })
export type AuditEvent = z.infer<typeof AuditEvent>

export const auditEvents = {
  list: endpoint({
    method: 'GET',
    path: '/v1/audit-events',
    summary: 'Who did what to keys, members, roles, invitations and sign-ins, newest first.',
    requires: 'members:manage',
    query: PageQuery.extend({ type: AuditEventType.optional() }),
    status: 200,
    response: pageOf(AuditEvent),
  }),
}
