import type { ActivityId, MachineId, OrganizationId, SessionId } from '@computer/contract'
import type { JSONColumnType } from 'kysely'

/** What was done with machines. */
export type ActivityTables = {
  activity: {
    id: ActivityId
    organization_id: OrganizationId
    machine_id: MachineId
    /** Null until the worker has placed it. */
    position: number | null
    type: string
    actor_type: 'user' | 'api_key' | 'guest' | 'system' | null
    actor_id: string | null
    actor_name: string | null
    session_id: SessionId | null
    data: JSONColumnType<Readonly<Record<string, unknown>>>
    occurred_at: Date
  }
  activity_positions: { only_row: boolean; last: number }
}
