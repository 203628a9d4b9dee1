import type { ApiKeyId, MachineId } from '@computer/contract'
import { sql, type RawBuilder } from 'kysely'

/** A part of the usage of an organization: all conditions that are given apply. */
export type UsageScope = {
  readonly machineId?: MachineId | undefined
  readonly apiKeyId?: ApiKeyId | undefined
  /** Without a value: usage that has the label, whatever its value. */
  readonly label?: { readonly key: string; readonly value?: string | undefined } | undefined
}

/** Whether a row of intervals or of egress is in a scope. */
export function isInScope({ machineId, apiKeyId, label }: UsageScope): RawBuilder<boolean> {
  const conditions = [
    ...(machineId === undefined ? [] : [sql`machine_id = ${machineId}`]),
    ...(apiKeyId === undefined ? [] : [sql`actor_type = 'api_key' and actor_id = ${apiKeyId}`]),
    ...(label === undefined ? [] : [hasLabel(label)]),
  ]
  return conditions.length === 0 ? sql`true` : sql`(${sql.join(conditions, sql` and `)})`
}

function hasLabel({ key, value }: NonNullable<UsageScope['label']>): RawBuilder<boolean> {
  return value === undefined
    ? sql`jsonb_exists(labels, ${key})`
    : sql`labels ->> ${key}::text = ${value}`
}
