import type { MachineId, OrganizationId, PreviewId } from '@computer/contract'
import { sql } from 'kysely'
import type { Database } from '../db/database.ts'

export type EgressCount = {
  readonly machineId: MachineId
  readonly organizationId: OrganizationId
  readonly bytes: number
}

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

/** Bytes that an organization's machines sent in a window. Adjacent windows add up exactly. */
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
