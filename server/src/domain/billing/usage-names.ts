import type { MachineId, MachineSize, Meter } from '@computer/contract'
import { sql, type RawBuilder } from 'kysely'
import type { ActorType, Labels } from '../../db/tables/attribution.ts'

export type UsageRecord = {
  readonly meter: Meter
  readonly size: MachineSize | null
  readonly quantity: string
  readonly machine_id: MachineId | null
  readonly machine_name: string | null
  readonly actor_type: ActorType | null
  readonly actor_id: string | null
  readonly actor_name: string | null
  readonly labels: Labels
  readonly start: Date
  readonly end: Date
}

/** Rows of usage, with the names that their machines and callers have, or had last. */
export function withNames(rows: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select used.*, machines.name as machine_name, coalesce(api_keys.name, users.name) as actor_name
    from (${rows}) as used
    left join machines on machines.id = used.machine_id
    left join api_keys on used.actor_type = 'api_key' and api_keys.id = used.actor_id
    left join users on used.actor_type = 'user' and users.id = used.actor_id`
}
