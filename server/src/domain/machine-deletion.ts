import { sql } from 'kysely'
import type { App } from '../app.ts'
import type { MachineRow } from '../db/database.ts'
import { appendEvent } from './events.ts'

/** The disk is gone: frees the name and the uids, closes what stood on the machine. */
export async function finishDeletion(
  app: Pick<App, 'db' | 'changes'>,
  machine: MachineRow,
): Promise<void> {
  await app.db.transaction().execute(async (tx) => {
    // First, as in every transaction that takes both the lease and the machine.
    await tx.deleteFrom('input_leases').where('machine_id', '=', machine.id).execute()
    const { numUpdatedRows } = await tx
      .updateTable('machines')
      .set({ deleted_at: sql`now()`, claimed_by: null, claimed_until: null })
      .where('id', '=', machine.id)
      .where('state', '=', 'deleting')
      .where('deleted_at', 'is', null)
      .executeTakeFirst()
    if (numUpdatedRows === 0n) return
    await tx
      .updateTable('uid_slots')
      .set({ machine_id: null })
      .where('machine_id', '=', machine.id)
      .execute()
    await tx
      .updateTable('sessions')
      .set({ closed_at: sql`now()` })
      .where('machine_id', '=', machine.id)
      .where('closed_at', 'is', null)
      .execute()
    await appendEvent(tx, machine.id, { type: 'machine.deleted', from: 'deleting' })
  })
  app.changes.publish(machine.id)
}
