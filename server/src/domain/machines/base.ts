import type { MachineRow, Tx } from '../../db/database.ts'
import { ApiError } from '../../errors.ts'
import { getCapture, insertCapture, releaseCapture } from '../disks/captures.ts'
import { lockAnyMachine } from '../find-machine.ts'
import { moveMachine } from '../events/machine-states.ts'
import { requireDiskRoom } from '../disks/pool.ts'

/** A machine whose disk is made arrives where it was wanted. It needs no longer what that came from. */
export async function moveMade(
  tx: Tx,
  machine: MachineRow,
  to: 'running' | 'stopped',
): Promise<MachineRow> {
  const captureId = machine.base_capture_id
  if (!captureId) return moveMachine(tx, machine, to)
  const { size_bytes: bytes } = await getCapture(tx, captureId)
  const made = { base_capture_id: null, base_bytes: bytes ?? 0 }
  const moved = await moveMachine(tx, machine, to, made)
  await releaseCapture(tx, captureId)
  return moved
}

/** Before a machine is tried again: if its source could not be captured, that is tried again too. */
export async function renewBase(tx: Tx, machine: MachineRow): Promise<void> {
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
  await requireDiskRoom(tx)
  const { id } = await insertCapture(tx, source)
  await tx
    .updateTable('machines')
    .set({ base_capture_id: id })
    .where('id', '=', machine.id)
    .execute()
  await releaseCapture(tx, captureId)
}
