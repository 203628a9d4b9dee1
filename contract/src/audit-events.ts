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
      .describe('The user or API key that acted, or an operator on the server itself.'),
    address: z.string().nullable().describe('The IP address of the caller.'),
    target: z
      .object({ type: z.string(), id: z.string(), name: z.string() })
      .nullable()
      .describe('The resource that was acted on.'),
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
    summary: 'List audit events: sign-ins and changes of access, newest first.',
    requires: 'members:manage',
    query: PageQuery.extend({ type: AuditEventType.optional() }),
    status: 200,
    response: pageOf(AuditEvent),
  }),
}
