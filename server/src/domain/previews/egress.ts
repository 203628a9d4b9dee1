import type { MachineId, OrganizationId, PreviewId } from '@computer/contract'
import { sql, type RawBuilder } from 'kysely'
import type { Database } from '../../db/database.ts'

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
 * period that has ended.
 */
export async function addEgress(
  db: Database,
  flushId: string,
  counts: readonly EgressCount[],
): Promise<void> {
  if (counts.length === 0) return
  await db
    .insertInto('egress_counts')
    .values(
      counts.map(({ machineId, organizationId, bytes }) => ({
        flush_id: flushId,
        machine_id: machineId,
        organization_id: organizationId,
        bytes,
        counted_at: sql<Date>`greatest(now(), (
          select closed_through from billing_accounts where organization_id = ${organizationId}
        ))`,
      })),
    )
    .onConflict((known) => known.columns(['flush_id', 'machine_id']).doNothing())
    .execute()
}

/**
 * Sums rows older than an hour into one row per machine and hour. A single statement, so concurrent
 * readers count each byte once. Rows locked by another worker are skipped. The ids of sums cannot
 * collide with those of batches, which begin with a digit.
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
      returning c.machine_id, c.organization_id, c.bytes,
        date_trunc('hour', c.counted_at, 'UTC') as hour
    )
    insert into egress_counts (flush_id, machine_id, organization_id, bytes, counted_at)
    select to_char(hour at time zone 'UTC', '"hour "YYYY-MM-DD"T"HH24'), machine_id, organization_id,
      sum(bytes), hour
    from gone group by hour, machine_id, organization_id
    order by hour, machine_id
    on conflict (flush_id, machine_id)
      do update set bytes = egress_counts.bytes + excluded.bytes`.execute(db)
}

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

/** The same as rows `machine_id`, `hour` and `bytes`, one for each machine and hour (UTC) with any. */
export function egressHours(
  organizationId: OrganizationId,
  window: {
    readonly start: Date
    readonly end: Date
    readonly meter?: string | undefined
    readonly machineId?: MachineId | undefined
  },
): RawBuilder<unknown> {
  const { start, end, meter = 'egress_bytes', machineId = null } = window
  return sql`
    select machine_id, date_trunc('hour', counted_at, 'UTC') as hour, sum(bytes) as bytes
    from egress_counts
    where organization_id = ${organizationId}
      and counted_at >= ${start} and counted_at < ${end}
      and ${meter}::text = 'egress_bytes'
      and (${machineId}::text is null or machine_id = ${machineId})
    group by machine_id, date_trunc('hour', counted_at, 'UTC')`
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
