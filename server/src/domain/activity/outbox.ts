import type { MachineId, OrganizationId } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { Database } from '../../db/database.ts'

/* Gives activity an order that readers can resume from, as events/outbox.ts does for events. */

const batch = 1_000

/**
 * Gives positions to activity that has none and notifies its readers. Resolves to whether there may be more. Does
 * nothing while another worker places activity.
 */
export async function placeActivity(app: Pick<App, 'db' | 'changes'>): Promise<boolean> {
  const { rows } = await sql<{ organization_id: OrganizationId; due: number }>`
    with turn as (
      select last from activity_positions where only_row for update skip locked
    ), due as (
      select id, row_number() over (order by id) as number
      from activity where position is null order by id limit ${batch}
    ), placed as (
      update activity as a set position = coalesce(a.position, turn.last + due.number)
      from due, turn where a.id = due.id
      returning a.organization_id
    ), moved as (
      update activity_positions set last = last + (select count(*) from due)
      where only_row and exists (select from turn, due)
    )
    select distinct organization_id, (select count(*)::integer from due) as due
    from placed`.execute(app.db)
  for (const { organization_id } of rows) app.changes.publish(organization_id, 'activity')
  return rows[0]?.due === batch
}

/** Activity of an organization, or of one of its machines, after a position, oldest first. */
export async function readActivityAfter(
  db: Database,
  where: { readonly organizationId: OrganizationId; readonly machineId: MachineId | null },
  after: number,
  limit: number,
) {
  return db
    .selectFrom('activity')
    .selectAll()
    .where('organization_id', '=', where.organizationId)
    .$if(where.machineId !== null, (query) => query.where('machine_id', '=', where.machineId!))
    .where('position', '>', after)
    .orderBy('position')
    .limit(limit)
    .execute()
}

/** The position after which a reader starts who wants only what is new. What is not placed yet counts as new. */
export async function readLastActivity(db: Database): Promise<number> {
  const { last } = await db
    .selectFrom('activity_positions')
    .select('last')
    .executeTakeFirstOrThrow()
  return last
}
