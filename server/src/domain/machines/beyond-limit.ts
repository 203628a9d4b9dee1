import type { MachineId, OrganizationId } from '@computer/contract'
import type { MachineRow, Tx } from '../../db/database.ts'
import { stopForReason } from '../events/machine-states.ts'
import { countsAsRunning } from '../running.ts'

export type RunningMachine = Pick<MachineRow, 'id' | 'name' | 'state'>

/**
 * The machines of a locked organization that count as running, the oldest first. Those after the number that
 * a plan allows are beyond it: what somebody relies on has been there for longer.
 */
export async function listRunning(tx: Tx, organizationId: OrganizationId) {
  return tx
    .selectFrom('machines')
    .select(['id', 'name', 'state'])
    .where('organization_id', '=', organizationId)
    .where('deleted_at', 'is', null)
    .where(countsAsRunning)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
}

/** Whether a machine is on its way down. If it cannot be stopped, it runs on. */
export async function isAnyStopping(tx: Tx, organizationId: OrganizationId): Promise<boolean> {
  const stopping = await tx
    .selectFrom('machines')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('deleted_at', 'is', null)
    .where('state', '=', 'stopping')
    .limit(1)
    .executeTakeFirst()
  return stopping !== undefined
}

/**
 * Requests an ordinary stop of the machines that run. Others are on their way to running, and are stopped by
 * a later call. The caller publishes the returned machines once the transaction is committed.
 */
export async function stopRunning(
  tx: Tx,
  machines: readonly RunningMachine[],
  message: string,
): Promise<MachineId[]> {
  const stopped: MachineId[] = []
  for (const { id } of machines.filter(({ state }) => state === 'running')) {
    if (await stopForReason(tx, id, message)) stopped.push(id)
  }
  return stopped
}
