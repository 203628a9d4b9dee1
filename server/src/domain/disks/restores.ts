import type { MachineId, SnapshotId } from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { MachineRow, Tx } from '../../db/database.ts'
import { conflict, illegalMove } from '../../errors.ts'
import { getCapture, releaseCapture } from './captures.ts'
import { wantCopy } from './copies.ts'
import { appendEvent } from '../events/events.ts'
import { getMachine, lockAnyMachine, lockMachine, requireUndeleted } from '../find-machine.ts'
import { requireNoHolder } from '../control/grants.ts'
import { moveMachine } from '../events/machine-states.ts'
import { requireDiskRoom } from '../hosts/capacity.ts'
import { requireAnswer } from '../hosts/health.ts'
import { findRelocation, recordMoved, revertRelocation } from './relocations.ts'
import { describeSnapshot, findSnapshot, holdSnapshotOf, insertSnapshot } from './snapshots.ts'

/*
 * A restore replaces the disk of a machine. The row names the capture to restore and takes the next
 * generation; the worker keeps the current disk as a snapshot, stops the machine, makes the disk of the
 * new generation beside the current one and then switches the row to it. Until that moment nothing is
 * lost, and every failure leads back to the current disk.
 */

/** A repeated call with the same `keptId` finds the snapshot that the first one has made, and does nothing. */
export async function restoreMachine(
  app: Pick<App, 'db' | 'changes'>,
  actor: Actor,
  id: MachineId,
  { keptId, snapshotId }: { readonly keptId: SnapshotId; readonly snapshotId: SnapshotId },
): Promise<MachineRow> {
  const machine = await app.db.transaction().execute(async (tx) => {
    await requireUndeleted(tx, actor, id)
    await getMachine(tx, actor, id)
    if (await findSnapshot(tx, actor, keptId)) return getMachine(tx, actor, id)
    await requireNoHolder(tx, actor, id)
    const current = await lockMachine(tx, actor, id)
    requireRestorable(current)
    const snapshot = await holdSnapshotOf(tx, actor, id, snapshotId)
    await requireAnswer(tx, current.host)
    await requireDiskRoom(tx, current.host)
    await wantCopy(tx, snapshot.capture_id, current.host)
    const message = `to ${describeSnapshot(snapshot)}`
    await appendEvent(tx, id, { type: 'machine.restore_started', message })
    const kept = { id: keptId, name: 'Before restore', origin: 'manual', actor } as const
    await insertSnapshot(tx, current, { ...kept, beforeRestore: true })
    await tx
      .updateTable('machines')
      .set({
        restore_capture_id: snapshot.capture_id,
        last_generation: sql`last_generation + 1`,
        attempts: 0,
        next_attempt_at: sql`now()`,
      })
      .where('id', '=', id)
      .execute()
    if (current.state !== 'running') return getMachine(tx, actor, id)
    return moveMachine(tx, current, 'stopping', { wanted: 'running', stop_by_force: false })
  })
  app.changes.publish(id)
  return machine
}

/** Switches a machine to its new disk, which is in place. No row refers to the old one any more. */
export async function completeRestore(
  app: Pick<App, 'db' | 'changes'>,
  machine: MachineRow,
): Promise<void> {
  await app.db.transaction().execute(async (tx) => {
    const current = await lockUnmoved(tx, machine)
    const captureId = current.restore_capture_id!
    const { size_bytes: bytes } = await getCapture(tx, captureId)
    await tx
      .updateTable('machines')
      .set({
        generation: current.last_generation,
        base_bytes: bytes ?? 0,
        restore_capture_id: null,
        moved_from: null,
        last_error: null,
      })
      .where('id', '=', current.id)
      .execute()
    if (current.moved_from !== null) await recordMoved(tx, current)
    else await recordRestored(tx, current)
    if (current.state === 'stopping') await restart(tx, current)
  })
  app.changes.publish(machine.id)
}

async function recordRestored(tx: Tx, machine: MachineRow): Promise<void> {
  await releaseCapture(tx, machine.restore_capture_id!)
  await appendEvent(tx, machine.id, { type: 'machine.restore_completed' })
  if (machine.state === 'error') await moveMachine(tx, machine, 'stopped', { wanted: 'stopped' })
}

/** Ends a restore whose new disk cannot be made: the machine keeps its current disk. */
export async function failRestore(
  app: Pick<App, 'db' | 'changes'>,
  machine: MachineRow,
  failure: RestoreFailure,
): Promise<void> {
  await app.db
    .transaction()
    .execute(async (tx) => abandonRestore(tx, await lockUnmoved(tx, machine), failure))
  app.changes.publish(machine.id)
}

export type RestoreFailure = {
  readonly reason: string
  /** The machine never went down for the restore. */
  readonly isRunning: boolean
}

/** The same for a locked machine. Does nothing if no restore is under way. */
export async function abandonRestore(
  tx: Tx,
  machine: MachineRow,
  { reason, isRunning }: RestoreFailure,
): Promise<void> {
  const captureId = machine.restore_capture_id
  if (!captureId) return
  const relocation = machine.moved_from === null ? undefined : await findRelocation(tx, machine.id)
  if (relocation) return revertRelocation(tx, machine, relocation)
  await tx
    .updateTable('machines')
    .set({ restore_capture_id: null, attempts: 0, last_error: null })
    .where('id', '=', machine.id)
    .execute()
  await releaseCapture(tx, captureId)
  await appendEvent(tx, machine.id, { type: 'machine.restore_failed', message: reason })
  if (machine.state !== 'stopping') return
  if (isRunning) await moveMachine(tx, machine, 'running', { message: 'the machine runs on' })
  else await restart(tx, machine)
}

/** Starts a machine that ran before, within one transaction, so no reader sees it at rest. */
async function restart(tx: Tx, machine: MachineRow): Promise<void> {
  await moveMachine(tx, await moveMachine(tx, machine, 'stopped'), 'starting')
}

function requireRestorable(machine: MachineRow): void {
  if (machine.restore_capture_id) {
    throw conflict(`the machine is ${machine.state} and a restore of it is under way already`)
  }
  const { state } = machine
  if (state === 'running' || state === 'stopped' || state === 'error') return
  throw illegalMove(state, 'stopping')
}

/** Locks the machine, and throws unless its restore is still the one that was read. */
async function lockUnmoved(tx: Tx, machine: MachineRow): Promise<MachineRow> {
  const current = await lockAnyMachine(tx, machine.id)
  const isSame =
    current.moves === machine.moves &&
    current.last_generation === machine.last_generation &&
    current.restore_capture_id !== null &&
    current.deleted_at === null
  if (!isSame) throw conflict(`machine ${machine.id} changed while its disk was restored`)
  return current
}
