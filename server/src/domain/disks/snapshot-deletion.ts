import type { SnapshotId } from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { MachineRow, SnapshotRow, Tx } from '../../db/database.ts'
import { conflict } from '../../errors.ts'
import { releaseCapture } from './captures.ts'
import { appendEvent } from '../events/events.ts'
import { lockAnyMachine } from '../find-machine.ts'
import { describeSnapshot, getSnapshot, type SnapshotWithState } from './snapshots.ts'

/**
 * Deletes the newest snapshot of a machine, even of a deleted machine. A snapshot in error holds no
 * disk: it can always be deleted and never blocks another. Repeating the call is no error.
 */
export async function deleteSnapshot(
  app: Pick<App, 'db' | 'changes'>,
  actor: Actor,
  id: SnapshotId,
): Promise<SnapshotWithState> {
  const snapshot = await app.db.transaction().execute(async (tx) => {
    const { machine_id: machineId } = await getSnapshot(tx, actor, id)
    const machine = await lockAnyMachine(tx, machineId)
    const found = await getSnapshot(tx, actor, id)
    if (found.state === 'deleting') return found
    if (found.state === 'pending') {
      throw conflict(`${describeSnapshot(found)} is still being taken; delete it when it is ready`)
    }
    if (machine.restore_capture_id === found.capture_id) {
      throw conflict(`machine ${machineId} is being restored to it; delete it when that is done`)
    }
    if (found.state === 'ready') await requireNewest(tx, found)
    await dropSnapshot(tx, found)
    return { ...found, state: 'deleting' as const }
  })
  app.changes.publish(snapshot.machine_id)
  return snapshot
}

/**
 * Deletes every snapshot of a locked machine, newest first. One that is still being taken goes when its
 * copy is made, and one that a template, a fork or a restore names leaves its capture to them.
 */
export async function dropSnapshotsOf(tx: Tx, machine: Pick<MachineRow, 'id'>): Promise<void> {
  const snapshots = await tx
    .selectFrom('snapshots')
    .selectAll()
    .where('machine_id', '=', machine.id)
    .where('deleted_at', 'is', null)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute()
  for (const snapshot of snapshots) await dropSnapshot(tx, snapshot)
}

/**
 * Deletes a snapshot of a locked machine, and its capture unless another row names it. The row stays,
 * marked deleted, until the copy in the engine is gone.
 */
export async function dropSnapshot(tx: Tx, snapshot: SnapshotRow): Promise<void> {
  await tx
    .updateTable('snapshots')
    .set({ deleted_at: sql<Date>`clock_timestamp()` })
    .where('id', '=', snapshot.id)
    .execute()
  const { capture, isKept, isNamed } = await releaseCapture(tx, snapshot.capture_id)
  if (isNamed) await tx.deleteFrom('snapshots').where('id', '=', snapshot.id).execute()
  await appendEvent(tx, snapshot.machine_id, {
    type: 'snapshot.deleted',
    message: describeSnapshot(snapshot),
    ...(!isKept && { capture }),
  })
}

async function requireNewest(tx: Tx, snapshot: SnapshotWithState): Promise<void> {
  const newest = await tx
    .selectFrom('snapshots as s')
    .innerJoin('captures as c', 'c.id', 's.capture_id')
    .select(['s.id', 's.name'])
    .where('s.machine_id', '=', snapshot.machine_id)
    .where('s.deleted_at', 'is', null)
    .where('c.state', '!=', 'error')
    .orderBy('s.created_at', 'desc')
    .orderBy('s.id', 'desc')
    .limit(1)
    .executeTakeFirstOrThrow()
  if (newest.id === snapshot.id) return
  throw conflict(
    `only the newest snapshot of a machine can be deleted: delete ${describeSnapshot(newest)} first`,
  )
}
