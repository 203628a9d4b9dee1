import type { Actor } from '../../actor.ts'
import type { Database, MachineRow, Tx } from '../../db/database.ts'
import { getEntitlements, requireRoom, requireSize } from '../accounts/plans.ts'
import { requirePaid } from '../accounts/standing.ts'
import { countsAsRunning } from '../running.ts'
import { requireCompute } from './compute.ts'

/**
 * Throws when another running machine would exceed the plan, a payment is due for too long, or the included
 * compute is used up on a plan that then refuses. The organization is locked, so that concurrent callers
 * cannot exceed the plan.
 */
export async function requireRoomToRun(tx: Tx, actor: Actor): Promise<void> {
  const entitlements = await getEntitlements(tx, actor.organizationId)
  const { running } = await readMachineCounts(tx, actor)
  requirePaid(entitlements, running)
  requireRoom(entitlements, 'running_machines', running)
  await requireCompute(tx, entitlements, running)
}

/** Throws when a new machine would exceed the plan, as for one that is started. The organization is locked. */
export async function requireRoomForMachine(
  tx: Tx,
  actor: Actor,
  machine: Pick<MachineRow, 'size' | 'wanted'>,
): Promise<void> {
  const entitlements = await getEntitlements(tx, actor.organizationId)
  const { machines, running } = await readMachineCounts(tx, actor)
  requirePaid(entitlements, running)
  requireSize(entitlements, machine.size)
  requireRoom(entitlements, 'machines', machines)
  if (machine.wanted !== 'running') return
  requireRoom(entitlements, 'running_machines', running)
  await requireCompute(tx, entitlements, running)
}

/** The machines of an organization, and those that run, as the limits count them. */
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
