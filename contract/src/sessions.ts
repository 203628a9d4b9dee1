import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { MachineId, OrganizationId, SessionId } from './ids.ts'
import { PageQuery, pageOf } from './list.ts'
import { Timestamp } from './text.ts'

export const SessionType = z.enum(['agent', 'human', 'view']).meta({ id: 'SessionType' })
export type SessionType = z.infer<typeof SessionType>
export const SessionState = z.enum(['active', 'idle', 'closed']).meta({ id: 'SessionState' })
export type SessionState = z.infer<typeof SessionState>

export const Opener = z
  .object({ type: z.enum(['user', 'api_key']), id: z.string(), name: z.string() })
  .meta({ id: 'Opener', description: 'The user or API key that opened a session.' })
export type Opener = z.infer<typeof Opener>

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
      .describe('Null while nobody holds it.'),
    fence: z.int().describe('Rises with every grant and release; a lower one is refused.'),
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
      type: SessionType.optional().describe('Default: agent for an API key, human for a browser.'),
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
    summary: 'Close a session for ever; the input lease it holds is released.',
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
    summary: 'Acquire the input lease, or renew it. With force, take it from whoever holds it.',
    requires: 'machines:control',
    params,
    body: z.strictObject({
      session_id: SessionId,
      ttl_seconds: z.int().min(5).max(3600).default(60),
      force: z.boolean().default(false),
    }),
    status: 200,
    response: InputLease,
  }),
  get: endpoint({
    method: 'GET',
    path: '/v1/machines/{machine_id}/input-lease',
    summary: 'Who holds the input lease.',
    requires: 'member',
    params,
    status: 200,
    response: InputLease,
  }),
  release: endpoint({
    method: 'DELETE',
    path: '/v1/machines/{machine_id}/input-lease',
    summary: "Release the input lease. Only the holder's session can.",
    requires: 'machines:control',
    params,
    query: z.strictObject({ session_id: SessionId }),
    status: 200,
    response: InputLease,
  }),
}
