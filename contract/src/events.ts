import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { EventId, MachineId, OrganizationId, SessionId } from './ids.ts'
import { PageQuery, pageOf } from './list.ts'
import { MachineState } from './machines.ts'
import { Timestamp } from './text.ts'

/** All event types (specification, Events 1). */
export const MachineEventType = z
  .enum([
    'machine.created',
    'machine.started',
    'machine.ready',
    'machine.stopped',
    'machine.failed',
    'machine.updated',
    'machine.deleted',
    'session.connected',
    'session.control_acquired',
    'session.control_released',
    'session.disconnected',
    'snapshot.started',
    'snapshot.completed',
    'snapshot.failed',
    'snapshot.deleted',
    'machine.restore_started',
    'machine.restore_completed',
    'machine.restore_failed',
    'host.unhealthy',
  ])
  .meta({ id: 'MachineEventType' })
export type MachineEventType = z.infer<typeof MachineEventType>

export const MachineEvent = z
  .object({
    id: EventId,
    type: MachineEventType,
    organization_id: OrganizationId,
    machine_id: MachineId,
    session_id: SessionId.nullable(),
    from_state: MachineState.nullable(),
    to_state: MachineState.nullable(),
    message: z.string().nullable(),
    sequence: z.int().min(0).describe('The position in the log of the machine, without gaps.'),
    occurred_at: Timestamp,
  })
  .meta({ id: 'MachineEvent' })
export type MachineEvent = z.infer<typeof MachineEvent>

const types = MachineEventType.options
const typeFilter = z
  .union([MachineEventType, z.array(MachineEventType).max(types.length)], {
    error: `must be one or several of ${types.join(', ')}`,
  })
  .describe('Lists only events of this type, or of these: type=A&type=B.')

export const events = {
  list: endpoint({
    method: 'GET',
    path: '/v1/machines/{machine_id}/events',
    summary: 'List the events of a machine, newest first.',
    requires: 'member',
    params: z.object({ machine_id: MachineId }),
    query: PageQuery.extend({ type: typeFilter.optional() }),
    status: 200,
    response: pageOf(MachineEvent),
  }),
}
