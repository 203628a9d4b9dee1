import type { CaptureId } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { CaptureRow, MachineRow, SnapshotRow, Tx } from '../../db/database.ts'
import { dropEarlierRestores } from './before-restore.ts'
import { releaseCapture } from './captures.ts'
import { forgetCopies, recordCopy } from './copies.ts'
import { appendEvent } from '../events/events.ts'
import { lockAnyMachine } from '../find-machine.ts'
import { abandonRestore } from './restores.ts'
import { describeSnapshot } from './snapshots.ts'
import { replaceEarlierStops } from './stop-snapshots.ts'
import { describeTemplate } from './templates.ts'

/** Records a finished copy on this host. `writtenBytes` is what the machine wrote since its disk was made. */
export async function completeCapture(
  app: Pick<App, 'db' | 'changes' | 'config'>,
  capture: CaptureRow,
  writtenBytes: number,
): Promise<void> {
  await finishCapture(app, capture, async (tx, machine) => {
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
    await recordCopy(tx, done.id, app.config.host)
    const snapshot = await findSnapshotOf(tx, capture.id)
    const message = await describeKeeper(tx, capture.id, snapshot)
    if (message === null) return true
    await appendEvent(tx, machine.id, { type: 'snapshot.completed', message, capture: done })
    if (snapshot?.origin === 'stop') await replaceEarlierStops(tx, snapshot, 'ready')
    if (done.before_restore) await dropEarlierRestores(tx, machine)
    return true
  })
}

/**
 * Records that the copy could not be made, with a reason that callers see. The machine is not changed.
 * False if another worker has finished the capture, whose copy may exist.
 */
export async function failCapture(
  app: Pick<App, 'db' | 'changes'>,
  capture: CaptureRow,
  failure: { readonly reason: string; readonly isDiskGone: boolean },
): Promise<boolean> {
  return finishCapture(app, capture, async (tx, machine) => {
    const failed = await tx
      .updateTable('captures')
      .set({ state: 'error', error: failure.reason })
      .where('id', '=', capture.id)
      .where('state', '=', 'pending')
      .returning('before_restore')
      .executeTakeFirst()
    if (!failed) return false
    await forgetCopies(tx, capture.id)
    const snapshot = await findSnapshotOf(tx, capture.id)
    const name = await describeKeeper(tx, capture.id, snapshot)
    if (name !== null) {
      const message = `${name}: ${failure.reason}`
      await appendEvent(tx, machine.id, { type: 'snapshot.failed', message })
    }
    if (snapshot?.origin === 'stop') await replaceEarlierStops(tx, snapshot, 'error')
    // If the disk is gone there is nothing to keep: the restore replaces it.
    if (failed.before_restore && !failure.isDiskGone) {
      const reason = `the current disk could not be kept: ${failure.reason}`
      await abandonRestore(tx, machine, { reason, isRunning: machine.state === 'stopping' })
    }
    return true
  })
}

/** Records that the only copy of a complete capture is gone. What was made from it goes on. */
export async function loseCapture(
  app: Pick<App, 'db' | 'changes'>,
  capture: CaptureRow,
  reason: string,
): Promise<void> {
  await finishCapture(app, capture, async (tx, machine) => {
    const lost = await tx
      .updateTable('captures')
      .set({ state: 'error', error: reason })
      .where('id', '=', capture.id)
      .where('state', '=', 'ready')
      .returningAll()
      .executeTakeFirst()
    if (!lost) return false
    await forgetCopies(tx, capture.id)
    const name = await describeKeeper(tx, capture.id, await findSnapshotOf(tx, capture.id))
    if (name === null) return true
    const message = `${name}: ${reason}`
    await appendEvent(tx, machine.id, { type: 'snapshot.failed', message, capture: lost })
    return true
  })
}

/** Records the outcome once: `record` returns false if another worker has done so. */
async function finishCapture(
  app: Pick<App, 'db' | 'changes'>,
  capture: CaptureRow,
  record: (tx: Tx, machine: MachineRow) => Promise<boolean>,
): Promise<boolean> {
  const isRecorded = await app.db.transaction().execute(async (tx) => {
    const machine = await lockAnyMachine(tx, capture.machine_id)
    if (!(await record(tx, machine))) return false
    // The row that requested the capture may have been deleted meanwhile.
    await releaseCapture(tx, capture.id)
    return true
  })
  app.changes.publish(capture.machine_id)
  return isRecorded
}

/**
 * The name in events of the snapshot that a capture was made for or, if that was deleted meanwhile, of
 * its template. Null if nothing keeps the capture.
 */
async function describeKeeper(
  tx: Tx,
  id: CaptureId,
  snapshot: SnapshotRow | undefined,
): Promise<string | null> {
  if (snapshot) return describeSnapshot(snapshot)
  const template = await tx
    .selectFrom('templates')
    .select(['id', 'name'])
    .where('capture_id', '=', id)
    .executeTakeFirst()
  return template ? describeTemplate(template) : null
}

async function findSnapshotOf(tx: Tx, id: CaptureId) {
  return tx
    .selectFrom('snapshots')
    .selectAll()
    .where('capture_id', '=', id)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
}
