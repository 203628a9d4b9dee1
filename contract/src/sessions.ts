import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { MachineId, OrganizationId, SessionId } from './ids.ts'
import { PageQuery, pageOf } from './list.ts'
import { Timestamp } from './text.ts'

export const SessionType = z.enum(['agent', 'human', 'view']).meta({ id: 'SessionType' })
export type SessionType = z.infer<typeof SessionType>
export const SessionState = z.enum(['active', 'idle', 'closed']).meta({ id: 'SessionState' })
export type SessionState = z.infer<typeof SessionState>

const Opener = z
  .object({ type: z.enum(['user', 'api_key']), id: z.string(), name: z.string() })
  .meta({ id: 'Opener', description: 'The user or API key that opened a session.' })

export const Session = z
  .object({
    id: SessionId,
    organization_id: OrganizationId,
    machine_id: MachineId,
    type: SessionType,
    state: SessionState,
    opened_by: Opener,
    created_at: Timestamp,
    last_active_at: Timestamp,
    closed_at: Timestamp.nullable(),
  })
  .meta({ id: 'Session' })
export type Session = z.infer<typeof Session>

export const InputLease = z
  .object({
    machine_id: MachineId,
    holder: z
      .object({ session_id: SessionId, type: SessionType, opened_by: Opener })
      .nullable()
      .describe('The session that holds the lease, or null.'),
    fence: z
      .int()
      .describe('Increases with each grant and release. Input with an earlier fence is refused.'),
    acquired_at: Timestamp.nullable(),
    expires_at: Timestamp.nullable(),
  })
  .meta({ id: 'InputLease' })
export type InputLease = z.infer<typeof InputLease>

export const sessions = {
  open: endpoint({
    method: 'POST',
    path: '/v1/sessions',
    summary: 'Open a session on a machine.',
    requires: 'member',
    body: z.strictObject({
      machine_id: MachineId,
      type: SessionType.optional().describe(
        'Default: agent for an API key, human for a browser session.',
      ),
    }),
    status: 201,
    response: Session,
    creates: true,
  }),
  list: endpoint({
    method: 'GET',
    path: '/v1/sessions',
    summary: 'List sessions, newest first.',
    requires: 'member',
    query: PageQuery.extend({
      machine_id: MachineId.optional(),
      state: SessionState.optional(),
    }),
    status: 200,
    response: pageOf(Session),
  }),
  close: endpoint({
    method: 'DELETE',
    path: '/v1/sessions/{session_id}',
    summary: 'Close a session permanently. Releases the input lease if the session holds it.',
    requires: 'member',
    params: z.object({ session_id: SessionId }),
    status: 200,
    response: Session,
  }),
}

const params = z.object({ machine_id: MachineId })

export const inputLease = {
  acquire: endpoint({
    method: 'POST',
    path: '/v1/machines/{machine_id}/input-lease',
    summary:
      'Acquire or renew the input lease. Fails with conflict if another session holds it, unless force is set.',
    requires: 'machines:control',
    params,
    body: z.strictObject({
      session_id: SessionId,
      ttl_seconds: z
        .int()
        .min(5)
        .max(3600)
        .default(60)
        .describe('The lease expires after this time.'),
      force: z.boolean().default(false).describe('Take the lease from another session.'),
    }),
    status: 200,
    response: InputLease,
  }),
  get: endpoint({
    method: 'GET',
    path: '/v1/machines/{machine_id}/input-lease',
    summary: 'Get the holder of the input lease.',
    requires: 'member',
    params,
    status: 200,
    response: InputLease,
  }),
  release: endpoint({
    method: 'DELETE',
    path: '/v1/machines/{machine_id}/input-lease',
    summary: 'Release the input lease. Only the session that holds it can.',
    requires: 'machines:control',
    params,
    query: z.strictObject({ session_id: SessionId }),
    status: 200,
    response: InputLease,
  }),
}
