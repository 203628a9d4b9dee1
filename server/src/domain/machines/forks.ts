import type { CaptureId, MachineId, SnapshotId } from '@computer/contract'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { MachineRow, Tx } from '../../db/database.ts'
import { insertCapture } from '../disks/captures.ts'
import { lockMachine, requireUndeleted } from '../find-machine.ts'
import { insertMachine, insertNamed } from './creation.ts'
import { describeSnapshot, holdSnapshotOf } from '../disks/snapshots.ts'
import { requireAnswer } from '../hosts/health.ts'
import { requireRunning } from '../require-running.ts'

/**
 * Creates a machine from another one's snapshot, or from its current disk, which is captured first. A
 * repeated call with the same id returns the machine of the first call.
 */
export async function forkMachine(
  app: Pick<App, 'db' | 'changes'>,
  actor: Actor,
  sourceId: MachineId,
  id: MachineId,
  input: {
    readonly name?: string | undefined
    readonly snapshot_id?: SnapshotId | undefined
    readonly metadata?: Record<string, string> | undefined
  },
): Promise<MachineRow> {
  const fork = await insertNamed(app, actor, id, input.name, async (tx, name) => {
    await requireUndeleted(tx, actor, sourceId)
    const source = await lockMachine(tx, actor, sourceId)
    const base = await findBase(tx, actor, source, input.snapshot_id)
    const plan = {
      id,
      name,
      size: source.size,
      cpu: source.cpu,
      memory_mb: source.memory_mb,
      disk_gb: source.disk_gb,
      image_id: source.image_id,
      template_id: null,
      base_capture_id: base.captureId,
      region: source.region,
      metadata: input.metadata ?? {},
      wanted: 'running',
    } as const
    return insertMachine(tx, actor, plan, `forked from ${base.name}`)
  })
  // The worker captures the source first.
  app.changes.publish(sourceId)
  return fork
}

async function findBase(
  tx: Tx,
  actor: Actor,
  source: MachineRow,
  snapshotId: SnapshotId | undefined,
): Promise<{ readonly captureId: CaptureId; readonly name: string }> {
  if (snapshotId) {
    const snapshot = await holdSnapshotOf(tx, actor, source.id, snapshotId)
    return { captureId: snapshot.capture_id, name: describeSnapshot(snapshot) }
  }
  await requireRunning(tx, source)
  await requireAnswer(tx, source.host)
  const { id } = await insertCapture(tx, source)
  return { captureId: id, name: `machine ${source.id}` }
}
