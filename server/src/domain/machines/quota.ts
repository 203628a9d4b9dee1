import type { Actor } from '../../actor.ts'
import type { Database, MachineRow, Tx } from '../../db/database.ts'
import { getEntitlements, requireRoom, requireSize } from '../accounts/plans.ts'
import { lockOrganization } from '../accounts/organizations.ts'
import { requirePaid } from '../accounts/standing.ts'
import { countsAsRunning } from '../running.ts'
import { requireCompute } from './compute.ts'

/**
 * Throws when another running machine would exceed the plan, a payment is due for too long, or the included
 * compute is used up on a plan that then refuses.
 */
export async function requireRoomToRun(tx: Tx, actor: Actor): Promise<void> {
  const entitlements = await getEntitlements(tx, actor.organizationId)
  const { running } = await countMachines(tx, actor)
  requirePaid(entitlements, running)
  requireRoom(entitlements, 'running_machines', running)
  await requireCompute(tx, actor, entitlements, running)
}

/** Throws when a new machine would exceed the plan, as for one that is started. */
export async function requireRoomForMachine(
  tx: Tx,
  actor: Actor,
  machine: Pick<MachineRow, 'size' | 'wanted'>,
): Promise<void> {
  const entitlements = await getEntitlements(tx, actor.organizationId)
  const { machines, running } = await countMachines(tx, actor)
  requirePaid(entitlements, running)
  requireSize(entitlements, machine.size)
  requireRoom(entitlements, 'machines', machines)
  if (machine.wanted !== 'running') return
  requireRoom(entitlements, 'running_machines', running)
  await requireCompute(tx, actor, entitlements, running)
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
      eb.fn.countAll<number>().filterWhere(countsAsRunning).as('running'),
    ])
    .where('organization_id', '=', actor.organizationId)
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow()
}
