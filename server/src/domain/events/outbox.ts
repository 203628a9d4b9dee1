import type { MachineId, OrganizationId } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { Database } from '../../db/database.ts'
import { placeRows, readLastPlaced } from '../positions.ts'

/*
 * The order of events. Within a machine it is the sequence: that is assigned under the lock of the machine's row, so
 * events commit in its order. Across machines it is the position (positions.ts).
 */

const log = {
  table: 'machine_events',
  counter: 'event_positions',
  order: sql`occurred_at, machine_id, sequence`,
  topic: 'events',
} as const

/** Gives positions to events that have none. Resolves to whether there may be more. */
export function placeEvents(app: Pick<App, 'db' | 'changes'>): Promise<boolean> {
  return placeRows(app, log)
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
export function readLastPosition(db: Database): Promise<number> {
  return readLastPlaced(db, log)
}
