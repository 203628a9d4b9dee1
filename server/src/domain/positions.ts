import type { OrganizationId } from '@computer/contract'
import { sql, type RawBuilder } from 'kysely'
import type { App } from '../app.ts'
import type { Topic } from '../db/changes.ts'
import type { Database } from '../db/database.ts'

/*
 * Gives the rows of a log an order that readers can resume from.
 *
 * The order of commits is not known beforehand: a transaction that began later may commit earlier. So a row gets its
 * position after its commit, from one transaction at a time. A reader that has reached a position has read everything
 * before it, for ever; and positions, unlike transaction ids, survive a dump and restore.
 */

export type PlacedLog = {
  readonly table: 'machine_events' | 'activity'
  /** Its single row has the last position. */
  readonly counter: 'event_positions' | 'activity_positions'
  /** The order in which rows that wait are placed. */
  readonly order: RawBuilder<unknown>
  /** Tells the readers of an organization. */
  readonly topic: Topic
}

const batch = 1_000

/**
 * Gives positions to rows that have none and notifies their readers. Resolves to whether there may be more. Does
 * nothing while another worker places rows of that log.
 *
 * As a single statement it may still see rows as unplaced that another worker has just placed. They keep their
 * positions, and the positions reserved for them here stay unused.
 */
export async function placeRows(
  app: Pick<App, 'db' | 'changes'>,
  { table, counter, order, topic }: PlacedLog,
): Promise<boolean> {
  const [log, positions] = [sql.table(table), sql.table(counter)]
  const { rows } = await sql<{ organization_id: OrganizationId; due: number }>`
    with turn as (
      select last from ${positions} where only_row for update skip locked
    ), due as (
      select id, row_number() over (order by ${order}) as number
      from ${log} where position is null order by ${order} limit ${batch}
    ), placed as (
      update ${log} as l set position = coalesce(l.position, turn.last + due.number)
      from due, turn where l.id = due.id
      returning l.organization_id
    ), moved as (
      update ${positions} set last = last + (select count(*) from due)
      where only_row and exists (select from turn, due)
    )
    select distinct organization_id, (select count(*)::integer from due) as due
    from placed`.execute(app.db)
  for (const { organization_id } of rows) app.changes.publish(organization_id, topic)
  return rows[0]?.due === batch
}

/** The position after which a reader starts who wants only what is new. Rows that are not placed yet count as new. */
export async function readLastPlaced(
  db: Database,
  { counter }: Pick<PlacedLog, 'counter'>,
): Promise<number> {
  const { last } = await db.selectFrom(counter).select('last').executeTakeFirstOrThrow()
  return last
}
