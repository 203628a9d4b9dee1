import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { MachineRow, Tx } from '../../db/database.ts'
import { ApiError } from '../../errors.ts'
import { inMs } from '../claims.ts'
import { getCapture, insertCapture, releaseCapture } from '../disks/captures.ts'
import { lockAnyMachine } from '../find-machine.ts'
import { moveMachine } from '../events/machine-states.ts'
import { requireDiskRoom } from '../hosts/capacity.ts'

/** Moves a machine whose disk is made to its wanted state, and detaches the capture it was made from. */
export async function finishCreation(
  tx: Tx,
  machine: MachineRow,
  to: 'running' | 'stopped',
  nextStepInMs = 0,
): Promise<MachineRow> {
  const captureId = machine.base_capture_id
  const next = { next_attempt_at: inMs(nextStepInMs) }
  if (!captureId) return moveMachine(tx, machine, to, next)
  const { size_bytes: bytes } = await getCapture(tx, captureId)
  const detached = { base_capture_id: null, base_bytes: bytes ?? 0, ...next }
  const moved = await moveMachine(tx, machine, to, detached)
  await releaseCapture(tx, captureId)
  return moved
}

/**
 * Gives up the instance that the machine was to take over from the pool: it is made anew in the next
 * generation. Returns its row, or undefined if it has moved meanwhile.
 */
export async function giveUpFrozen(
  app: Pick<App, 'db'>,
  machine: MachineRow,
): Promise<MachineRow | undefined> {
  return app.db
    .updateTable('machines')
    .set({
      is_frozen: false,
      generation: sql`last_generation + 1`,
      last_generation: sql`last_generation + 1`,
    })
    .where('id', '=', machine.id)
    .where('moves', '=', machine.moves)
    .where('is_frozen', '=', true)
    .returningAll()
    .executeTakeFirst()
}

/** Before a machine is started again: if capturing its source failed, requests another capture. */
export async function retryBaseCapture(tx: Tx, machine: MachineRow): Promise<void> {
  const captureId = machine.base_capture_id
  if (!captureId) return
  const base = await getCapture(tx, captureId)
  if (base.state !== 'error') return
  const source = await lockAnyMachine(tx, base.machine_id)
  if (source.state !== 'running') {
    throw new ApiError(
      'precondition_failed',
      `the disk of machine ${source.id} could not be captured: start this machine again when that ` +
        'one runs, or delete this one and fork a snapshot',
    )
  }
  await requireDiskRoom(tx, source.host)
  const { id } = await insertCapture(tx, source)
  await tx
    .updateTable('machines')
    .set({ base_capture_id: id })
    .where('id', '=', machine.id)
    .execute()
  await releaseCapture(tx, captureId)
}
