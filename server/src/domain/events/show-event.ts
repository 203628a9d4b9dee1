import type { MachineEvent } from '@computer/contract'
import type { EventRow } from '../../db/database.ts'

/** An event on the wire, in responses and channels. */
export function showEvent(row: EventRow): MachineEvent {
  return {
    id: row.id,
    type: row.type,
    organization_id: row.organization_id,
    machine_id: row.machine_id,
    session_id: row.session_id,
    from_state: row.from_state,
    to_state: row.to_state,
    message: row.message,
    sequence: row.sequence,
    occurred_at: row.occurred_at.toISOString(),
  }
}
