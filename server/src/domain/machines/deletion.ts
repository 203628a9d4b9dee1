import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { MachineRow } from '../../db/database.ts'
import { releaseCapture } from '../disks/captures.ts'
import { appendEvent } from '../events/events.ts'
import { lockAnyMachine } from '../find-machine.ts'
import { freeUidSlot } from './uid-slots.ts'

/** Marks a machine deleted once its disk is gone, and frees or closes everything that belonged to it. */
export async function finishDeletion(
  app: Pick<App, 'db' | 'changes'>,
  machine: MachineRow,
): Promise<void> {
  await app.db.transaction().execute(async (tx) => {
    // Every transaction that locks both the lease and the machine locks the lease first.
    await tx.deleteFrom('input_leases').where('machine_id', '=', machine.id).execute()
    const current = await lockAnyMachine(tx, machine.id)
    if (current.state !== 'deleting' || current.deleted_at !== null) return
    await tx
      .updateTable('machines')
      .set({
        deleted_at: sql`now()`,
        claimed_by: null,
        claimed_until: null,
        base_capture_id: null,
        restore_capture_id: null,
      })
      .where('id', '=', machine.id)
      .execute()
    for (const captureId of [current.base_capture_id, current.restore_capture_id]) {
      if (captureId) await releaseCapture(tx, captureId)
    }
    await tx.deleteFrom('secret_deliveries').where('id', '=', machine.id).execute()
    await tx.deleteFrom('machine_secrets').where('machine_id', '=', machine.id).execute()
    await tx.deleteFrom('previews').where('machine_id', '=', machine.id).execute()
    await freeUidSlot(tx, machine.id)
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
