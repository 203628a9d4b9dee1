import type { Actor } from '../../actor.ts'
import type { Database, Tx } from '../../db/database.ts'
import { getEntitlements, requireRoom } from '../accounts/plans.ts'
import { lockOrganization } from '../accounts/organizations.ts'

/** Throws when another running machine would exceed the plan. */
export async function requireRoomToRun(tx: Tx, actor: Actor): Promise<void> {
  const entitlements = await getEntitlements(tx, actor.organizationId)
  const { running } = await countMachines(tx, actor)
  requireRoom(entitlements, 'running_machines', running)
}

/** Counts under a lock on the organization, so that concurrent creations cannot exceed the plan. */
export async function countMachines(tx: Tx, actor: Actor) {
  await lockOrganization(tx, actor)
  return readMachineCounts(tx, actor)
}

/** The same without the lock, for display. */
export async function readMachineCounts(db: Database, actor: Pick<Actor, 'organizationId'>) {
  return db
    .selectFrom('machines')
    .select((eb) => [
      eb.fn.countAll<number>().as('machines'),
      eb.fn
        .countAll<number>()
        .filterWhere('wanted', '=', 'running')
        .filterWhere('state', 'not in', ['stopped', 'error', 'deleting'])
        .as('running'),
    ])
    .where('organization_id', '=', actor.organizationId)
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow()
}
