import type { CaptureId } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { CaptureRow, MachineRow, Tx } from '../../db/database.ts'
import { releaseCapture } from './captures.ts'
import { appendEvent } from '../events/events.ts'
import { lockAnyMachine } from '../find-machine.ts'
import { abandonRestore } from './restores.ts'
import { describeSnapshot } from './snapshots.ts'
import { replaceEarlierStops } from './stop-snapshots.ts'

/** The copy is made. `writtenBytes` are what the machine wrote beyond what its disk began with. */
export async function completeCapture(
  app: Pick<App, 'db' | 'changes'>,
  capture: CaptureRow,
  writtenBytes: number,
): Promise<void> {
  await settle(app, capture, async (tx, machine) => {
    const done = await tx
      .updateTable('captures')
      .set({
        state: 'ready',
        size_bytes: machine.base_bytes + writtenBytes,
        completed_at: sql<Date>`clock_timestamp()`,
      })
      .where('id', '=', capture.id)
      .where('state', '=', 'pending')
      .returningAll()
      .executeTakeFirst()
    if (!done) return false
    const snapshot = await findSnapshotOf(tx, capture.id)
    if (!snapshot) return true
    await appendEvent(tx, machine.id, {
      type: 'snapshot.completed',
      message: describeSnapshot(snapshot),
      capture: done,
    })
    if (snapshot.origin === 'stop') await replaceEarlierStops(tx, snapshot, 'ready')
    return true
  })
}

/**
 * The copy could not be made, for a reason that its caller is told. The machine stays as it is. False:
 * somebody else has settled it, and it may have been made.
 */
export async function failCapture(
  app: Pick<App, 'db' | 'changes'>,
  capture: CaptureRow,
  failure: { readonly reason: string; readonly isDiskGone: boolean },
): Promise<boolean> {
  return settle(app, capture, async (tx, machine) => {
    const failed = await tx
      .updateTable('captures')
      .set({ state: 'error', error: failure.reason })
      .where('id', '=', capture.id)
      .where('state', '=', 'pending')
      .returning('before_restore')
      .executeTakeFirst()
    if (!failed) return false
    const snapshot = await findSnapshotOf(tx, capture.id)
    if (snapshot) {
      const message = `${describeSnapshot(snapshot)}: ${failure.reason}`
      await appendEvent(tx, machine.id, { type: 'snapshot.failed', message })
      if (snapshot.origin === 'stop') await replaceEarlierStops(tx, snapshot, 'error')
    }
    // Of a disk that is gone there is nothing to keep: the restore brings another.
    if (failed.before_restore && !failure.isDiskGone) {
      const reason = `the disk of now could not be kept: ${failure.reason}`
      await abandonRestore(tx, machine, { reason, isRunning: machine.state === 'stopping' })
    }
    return true
  })
}

/** Of two workers that both think it is theirs, one finds it settled. */
async function settle(
  app: Pick<App, 'db' | 'changes'>,
  capture: CaptureRow,
  record: (tx: Tx, machine: MachineRow) => Promise<boolean>,
): Promise<boolean> {
  const isRecorded = await app.db.transaction().execute(async (tx) => {
    const machine = await lockAnyMachine(tx, capture.machine_id)
    if (!(await record(tx, machine))) return false
    // Whoever asked for it may have gone meanwhile.
    await releaseCapture(tx, capture.id)
    return true
  })
  app.changes.publish(capture.machine_id)
  return isRecorded
}

async function findSnapshotOf(tx: Tx, id: CaptureId) {
  return tx
    .selectFrom('snapshots')
    .selectAll()
    .where('capture_id', '=', id)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
}
