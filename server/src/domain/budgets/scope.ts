import type { ApiKeyId, BudgetScope, MachineId } from '@computer/contract'
import { sql, type RawBuilder } from 'kysely'
import type { BudgetRow } from '../../db/database.ts'

/** Whether a row `u` of intervals or of egress counts for a budget `b`. */
export const isUsageInScope: RawBuilder<boolean> = sql`(case b.scope_type
  when 'organization' then true
  when 'api_key' then u.actor_type = 'api_key' and u.actor_id = b.scope_id
  when 'machine' then u.machine_id = b.scope_id
  else u.labels ->> b.label_key = b.label_value end)`

/** Whether the compute of a machine `m` counts for a budget `b`. */
export const isMachineInScope: RawBuilder<boolean> = sql`(case b.scope_type
  when 'organization' then true
  when 'api_key' then m.run_by_type = 'api_key' and m.run_by_id = b.scope_id
  when 'machine' then m.id = b.scope_id
  else m.labels ->> b.label_key = b.label_value end)`

export function scopeOf(budget: BudgetRow): BudgetScope {
  const { scope_type: type, scope_id: id, label_key: key, label_value: value } = budget
  switch (type) {
    case 'api_key':
      return { type, api_key_id: id as ApiKeyId }
    case 'machine':
      return { type, machine_id: id as MachineId }
    case 'label':
      return { type, label: { key: key!, value: value! } }
    default:
      return { type }
  }
}

export function scopeColumns({
  type,
  api_key_id: keyId,
  machine_id: machineId,
  label,
}: BudgetScope) {
  return {
    scope_type: type,
    scope_id: keyId ?? machineId ?? null,
    label_key: label?.key ?? null,
    label_value: label?.value ?? null,
  }
}
