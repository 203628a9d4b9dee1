import type { Activity } from '@computer/contract'
import type { ActivityRow } from '../../db/database.ts'
import { showReference } from '../show-reference.ts'

/** Activity on the wire, in responses and channels. */
export function showActivity(row: ActivityRow): Activity {
  return {
    id: row.id,
    organization_id: row.organization_id,
    machine_id: row.machine_id,
    type: row.type,
    actor: showReference(row.actor_type, row.actor_id, row.actor_name),
    session_id: row.session_id,
    data: row.data,
    occurred_at: row.occurred_at.toISOString(),
  }
}
