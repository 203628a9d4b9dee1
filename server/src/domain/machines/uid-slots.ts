import type { MachineId } from '@computer/contract'
import type { Tx } from '../../db/database.ts'
import { ApiError } from '../../errors.ts'

/** Reserves 65,536 host uids for a machine until its disk is gone. Throws if this server has no more. */
export async function takeUidSlot(tx: Tx, id: MachineId): Promise<number> {
  const free = await tx
    .selectFrom('uid_slots')
    .select('slot')
    .where('machine_id', 'is', null)
    .orderBy('slot')
    .limit(1)
    .forUpdate()
    .skipLocked()
    .executeTakeFirst()
  if (!free) throw new ApiError('compute_unavailable', 'this server has no room for more machines')
  await tx.updateTable('uid_slots').set({ machine_id: id }).where('slot', '=', free.slot).execute()
  return free.slot
}

export async function freeUidSlot(tx: Tx, id: MachineId): Promise<void> {
  await tx.updateTable('uid_slots').set({ machine_id: null }).where('machine_id', '=', id).execute()
}
