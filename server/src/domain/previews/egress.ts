import type { MachineId, OrganizationId, PreviewId } from '@computer/contract'
import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'

const compactAtOnce = 50_000

export type EgressCount = {
  readonly machineId: MachineId
  readonly organizationId: OrganizationId
  readonly bytes: number
}

/** A batch is written again for this long at most: what is older may have been summed with others. */
export const repeatEgressForMs = 30 * 60_000

/** Adds what machines sent. A batch under the same id counts once, however often it is written. */
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
      })),
    )
    .onConflict((known) => known.columns(['flush_id', 'machine_id']).doNothing())
    .execute()
}

/**
 * Makes one row per machine and hour of all that is older than an hour. It is one statement, so whoever
 * reads meanwhile finds each byte once; rows that another worker has at hand are left to it. No batch
 * has such an id: theirs begin with a digit.
 */
export async function compactEgress(db: Database): Promise<void> {
  await sql`
    with due as (
      select flush_id, machine_id from egress_counts
      where flush_id < 'hour' and counted_at < date_trunc('hour', now() - interval '1 hour', 'UTC')
      order by flush_id, machine_id limit ${compactAtOnce}
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
 * Bytes that an organization's machines sent in a window. Adjacent windows add up exactly; in the past
 * an hour (UTC) counts whole, where it begins.
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

/** When previews were last reached; each with how long ago that was. */
export async function noteRequests(
  db: Database,
  reached: ReadonlyMap<PreviewId, number>,
): Promise<void> {
  if (reached.size === 0) return
  const [ids, ages] = [[...reached.keys()], [...reached.values()]]
  await sql`
    update previews as p
    set last_request_at = greatest(p.last_request_at, now() - r.age_ms * interval '1 millisecond')
    from unnest(${ids}::text[], ${ages}::float8[]) as r (id, age_ms)
    where p.id = r.id`.execute(db)
}
