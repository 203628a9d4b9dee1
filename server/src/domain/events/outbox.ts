import type { MachineId, OrganizationId } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { Database } from '../../db/database.ts'

/*
 * Gives events an order that readers can resume from.
 *
 * Within a machine that is the sequence: it is assigned under the lock of the machine's row, so events
 * commit in its order. Across machines the order of commits is not known beforehand: a transaction that
 * began later may commit earlier. So an event gets its position after its commit, from one transaction
 * at a time. A reader that has reached a position has read everything before it, for ever; and
 * positions, unlike transaction ids, survive a dump and restore.
 */

const batch = 1_000

/**
 * Gives positions to events that have none and notifies their readers. Resolves to whether there may be
 * more. Does nothing while another worker places events.
 *
 * As a single statement it may still see events as unplaced that another worker has just placed. They
 * keep their positions, and the positions reserved for them here stay unused.
 */
export async function placeEvents(app: Pick<App, 'db' | 'changes'>): Promise<boolean> {
  const { rows } = await sql<{ organization_id: OrganizationId; due: number }>`
    with turn as (
      select last from event_positions where only_row for update skip locked
    ), due as (
      select id, row_number() over (order by occurred_at, machine_id, sequence) as number
      from machine_events where position is null
      order by occurred_at, machine_id, sequence limit ${batch}
    ), placed as (
      update machine_events as e set position = coalesce(e.position, turn.last + due.number)
      from due, turn where e.id = due.id
      returning e.organization_id
    ), moved as (
      update event_positions set last = last + (select count(*) from due)
      where only_row and exists (select from turn, due)
    )
    select distinct organization_id, (select count(*)::integer from due) as due
    from placed`.execute(app.db)
  for (const { organization_id } of rows) app.changes.publish(organization_id, 'events')
  return rows[0]?.due === batch
}

/** A machine's events after a sequence, oldest first. */
export async function readMachineEvents(
  db: Database,
  where: { readonly organizationId: OrganizationId; readonly machineId: MachineId },
  after: number,
  limit: number,
) {
  return db
    .selectFrom('machine_events')
    .selectAll()
    .where('organization_id', '=', where.organizationId)
    .where('machine_id', '=', where.machineId)
    .where('sequence', '>', after)
    .orderBy('sequence')
    .limit(limit)
    .execute()
}

/** An organization's events after a position, oldest first. */
export async function readOrganizationEvents(
  db: Database,
  organizationId: OrganizationId,
  after: number,
  limit: number,
) {
  return db
    .selectFrom('machine_events')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('position', '>', after)
    .orderBy('position')
    .limit(limit)
    .execute()
}

/** The sequence after which a reader starts who wants only new events. */
export async function readLastSequence(db: Database, machineId: MachineId): Promise<number> {
  const machine = await db
    .selectFrom('machines')
    .select('event_sequence')
    .where('id', '=', machineId)
    .executeTakeFirst()
  return machine?.event_sequence ?? 0
}

/** The same for all machines. Events that are committed but not placed yet count as new. */
export async function readLastPosition(db: Database): Promise<number> {
  const { last } = await db.selectFrom('event_positions').select('last').executeTakeFirstOrThrow()
  return last
}
