import type { MachineId, OrganizationId, PreviewId } from '@computer/contract'
import { sql, type RawBuilder } from 'kysely'
import type { Database } from '../../db/database.ts'
import { isInScope, type UsageScope } from '../events/usage-scope.ts'

const compactBatchSize = 50_000

export type EgressCount = {
  readonly machineId: MachineId
  readonly organizationId: OrganizationId
  readonly bytes: number
}

/** Batches may be retried for this long. Older ones may have been compacted, so their id is gone. */
export const repeatEgressForMs = 30 * 60_000

/**
 * Adds bytes that machines sent. A batch counts once, however often it is written, and never in a billing
 * period that has ended. It counts for whoever set the machine running, under the labels that it has now.
 */
export async function addEgress(
  db: Database,
  flushId: string,
  counts: readonly EgressCount[],
): Promise<void> {
  if (counts.length === 0) return
  const machines = counts.map(({ machineId }) => machineId)
  const organizations = counts.map(({ organizationId }) => organizationId)
  const bytes = counts.map((count) => count.bytes)
  await sql`
    insert into egress_counts
      (flush_id, machine_id, organization_id, bytes, counted_at, actor_type, actor_id, labels)
    select ${flushId}, m.id, c.organization_id, c.bytes, greatest(now(), a.closed_through),
      m.run_by_type, m.run_by_id, m.labels
    from unnest(${machines}::text[], ${organizations}::text[], ${bytes}::bigint[])
      as c (machine_id, organization_id, bytes)
    join machines m on m.id = c.machine_id
    join billing_accounts a on a.organization_id = c.organization_id
    on conflict (flush_id, machine_id) do nothing`.execute(db)
}

/**
 * Sums rows older than an hour into one row per machine, hour and attribution. A single statement, so
 * concurrent readers count each byte once. Rows locked by another worker are skipped. The ids of sums
 * cannot collide with those of batches, which begin with a digit.
 */
export async function compactEgress(db: Database): Promise<void> {
  await sql`
    with due as (
      select flush_id, machine_id from egress_counts
      where flush_id < 'hour' and counted_at < date_trunc('hour', now() - interval '1 hour', 'UTC')
      order by flush_id, machine_id limit ${compactBatchSize}
      for update skip locked
    ), gone as (
      delete from egress_counts as c using due as d
      where c.flush_id = d.flush_id and c.machine_id = d.machine_id
      returning c.machine_id, c.organization_id, c.bytes, c.actor_type, c.actor_id, c.labels,
        date_trunc('hour', c.counted_at, 'UTC') as hour
    )
    insert into egress_counts
      (flush_id, machine_id, organization_id, bytes, counted_at, actor_type, actor_id, labels)
    select to_char(hour at time zone 'UTC', '"hour "YYYY-MM-DD"T"HH24 ') || ${attributionKey},
      machine_id, organization_id, sum(bytes), hour, actor_type, actor_id, labels
    from gone group by hour, machine_id, organization_id, actor_type, actor_id, labels
    order by hour, machine_id, 1
    on conflict (flush_id, machine_id)
      do update set bytes = egress_counts.bytes + excluded.bytes`.execute(db)
}

/** Tells rows of different attribution apart. It has no meaning beyond that. */
const attributionKey = sql`md5(concat_ws(' ', actor_type, actor_id, labels))`

/**
 * Bytes that an organization's machines sent in a window. Adjacent windows add up exactly. A compacted
 * hour (UTC) counts as a whole in the window that contains its start.
 */
export async function egressOf(
  db: Database,
  organizationId: OrganizationId,
  window: { readonly start: Date; readonly end: Date },
): Promise<bigint> {
  const { rows } = await sql<{ bytes: string }>`
    select coalesce(sum(bytes), 0)::text as bytes from egress_counts
    where organization_id = ${organizationId}
      and counted_at >= ${window.start} and counted_at < ${window.end}`.execute(db)
  return BigInt(rows[0]!.bytes)
}

/** The same as rows, one for each machine, attribution and hour (UTC) with any, which `key` tells apart. */
export function egressHours(
  organizationId: OrganizationId,
  window: {
    readonly start: Date
    readonly end: Date
    readonly meter?: string | undefined
  } & UsageScope,
): RawBuilder<unknown> {
  const { start, end, meter = 'egress_bytes' } = window
  return sql`
    select machine_id, date_trunc('hour', counted_at, 'UTC') as hour, sum(bytes) as bytes,
      actor_type, actor_id, labels, ${attributionKey} as key
    from egress_counts
    where organization_id = ${organizationId}
      and counted_at >= ${start} and counted_at < ${end}
      and ${meter}::text = 'egress_bytes'
      and ${isInScope(window)}
    group by machine_id, date_trunc('hour', counted_at, 'UTC'), actor_type, actor_id, labels`
}

/** Updates when previews were last requested, given how many milliseconds ago. */
export async function noteRequests(
  db: Database,
  ageMs: ReadonlyMap<PreviewId, number>,
): Promise<void> {
  if (ageMs.size === 0) return
  const [ids, ages] = [[...ageMs.keys()], [...ageMs.values()]]
  await sql`
    update previews as p
    set last_request_at = greatest(p.last_request_at, now() - r.age_ms * interval '1 millisecond')
    from unnest(${ids}::text[], ${ages}::float8[]) as r (id, age_ms)
    where p.id = r.id`.execute(db)
}
