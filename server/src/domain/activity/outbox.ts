import type { MachineId, OrganizationId } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { Database } from '../../db/database.ts'
import { placeRows, readLastPlaced } from '../positions.ts'

/* The order of activity (positions.ts). */

const log = {
  table: 'activity',
  counter: 'activity_positions',
  order: sql`id`,
  topic: 'activity',
} as const

/** Gives positions to activity that has none. Resolves to whether there may be more. */
export function placeActivity(app: Pick<App, 'db' | 'changes'>): Promise<boolean> {
  return placeRows(app, log)
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

/** The position after which a reader starts who wants only activity that is new. */
export function readLastActivity(db: Database): Promise<number> {
  return readLastPlaced(db, log)
}
