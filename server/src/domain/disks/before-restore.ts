import type { MachineRow, Tx } from '../../db/database.ts'
import { getEntitlements } from '../accounts/plans.ts'
import { dropSnapshot } from './snapshot-deletion.ts'

/** A restore keeps the current disk even if the quota is used up, but not without bound. */
const beyondQuota = 2

/**
 * Deletes the oldest `Before restore` snapshots of a locked machine that exceed its quota by more than
 * two, once a new one is ready. The one that the machine is being restored to stays.
 */
export async function dropEarlierRestores(tx: Tx, machine: MachineRow): Promise<void> {
  const entitlements = await getEntitlements(tx, machine.organization_id)
  const maximum = entitlements.find('snapshots_per_machine')
  if (maximum === null) return
  const snapshots = await tx
    .selectFrom('snapshots as s')
    .innerJoin('captures as c', 'c.id', 's.capture_id')
    .selectAll('s')
    .select(['c.state', 'c.before_restore'])
    .where('s.machine_id', '=', machine.id)
    .where('s.origin', '=', 'manual')
    .where('s.deleted_at', 'is', null)
    .where('c.state', '!=', 'error')
    .orderBy('s.created_at')
    .orderBy('s.id')
    .execute()
  const kept = snapshots.filter(({ before_restore }) => before_restore)
  const requested = snapshots.length - kept.length
  const excess = kept.length - Math.max(0, maximum - requested) - beyondQuota
  const droppable = kept.filter(
    ({ state, capture_id }) => state === 'ready' && capture_id !== machine.restore_capture_id,
  )
  for (const snapshot of droppable.slice(0, Math.max(0, excess))) await dropSnapshot(tx, snapshot)
}
