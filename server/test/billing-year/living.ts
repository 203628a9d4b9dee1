import type { MachineId, SnapshotId, TemplateId } from '@computer/contract'
import type { Actor } from '../../src/actor.ts'
import type { App } from '../../src/app.ts'
import { moveMachine } from '../../src/domain/events/machine-states.ts'
import { lockAnyMachine } from '../../src/domain/find-machine.ts'
import { completeCapture, failCapture } from '../../src/domain/disks/capture-outcome.ts'
import { getCapture } from '../../src/domain/disks/captures.ts'
import { deleteSnapshot } from '../../src/domain/disks/snapshot-deletion.ts'
import { createSnapshot } from '../../src/domain/disks/snapshots.ts'
import { createTemplate } from '../../src/domain/disks/template-creation.ts'
import { deleteTemplate } from '../../src/domain/disks/templates.ts'
import { createMachine } from '../../src/domain/machines/creation.ts'
import { finishDeletion } from '../../src/domain/machines/deletion.ts'
import { deleteMachine, updateMachine } from '../../src/domain/machines/machines.ts'
import { addEgress } from '../../src/domain/previews/egress.ts'
import { newId } from '../../src/ids.ts'
import type { MachineHappening } from './machine-story.ts'

type Happening<What extends MachineHappening['what']> = Extract<
  MachineHappening,
  { readonly what: What }
>

/** Does what happens to machines, as callers and the worker do it, now. The engine alone is left out. */
export function livingMachines(
  app: Pick<App, 'config' | 'db' | 'changes'>,
  actor: Actor,
): (happening: MachineHappening) => Promise<unknown> {
  const { db } = app
  const ids = new Map<string, MachineId>()
  const snapshots = new Map<string, SnapshotId>()
  const templates = new Map<string, TemplateId>()
  let flushes = 0

  return async (happening) => {
    const id = idOf(happening.machine)
    switch (happening.what) {
      case 'created':
        return createMachine(app, actor, id, {
          name: `${happening.machine}-machine`,
          size: happening.size,
          metadata: {},
          start: true,
        })
      case 'resized':
        return updateMachine(app, actor, id, { size: happening.size })
      case 'deleted':
        return remove(id)
      case 'failed':
        return move(id, 'error')
      case 'served': {
        const { organizationId } = actor
        const count = { machineId: id, organizationId, bytes: happening.bytes }
        return addEgress(db, String(flushes++), [count])
      }
      case 'relabeled':
        return updateMachine(app, actor, id, { metadata: { team: happening.team } })
      case 'not copied':
        return failToCopy(id)
      case 'copied':
        return copyDisk(id, happening)
      case 'named':
        return nameCopy(happening)
      case 'dropped':
        return dropName(happening)
      default:
        return move(id, happening.what)
    }
  }

  function idOf(machine: string): MachineId {
    const id = ids.get(machine) ?? newId('mch')
    ids.set(machine, id)
    return id
  }

  /** The step of the worker by which a machine gets into a state. */
  async function move(id: MachineId, to: Parameters<typeof moveMachine>[2]): Promise<void> {
    await db.transaction().execute(async (tx) => {
      await moveMachine(tx, await lockAnyMachine(tx, id), to)
    })
  }

  async function remove(id: MachineId): Promise<void> {
    await deleteMachine(app, actor, id, { withSnapshots: false })
    const machine = await db.transaction().execute((tx) => lockAnyMachine(tx, id))
    await finishDeletion(app, machine)
  }

  async function copyDisk(id: MachineId, { copy, bytes }: Happening<'copied'>): Promise<void> {
    const snapshotId = newId('snp')
    snapshots.set(copy, snapshotId)
    const snapshot = await createSnapshot(app, actor, snapshotId, { machine_id: id })
    await completeCapture(app, await getCapture(db, snapshot.capture_id), bytes)
  }

  async function failToCopy(id: MachineId): Promise<void> {
    const snapshot = await createSnapshot(app, actor, newId('snp'), { machine_id: id })
    const failure = { reason: 'The pool was full.', isDiskGone: false }
    await failCapture(app, await getCapture(db, snapshot.capture_id), failure)
  }

  async function nameCopy({ copy }: Happening<'named'>): Promise<void> {
    const id = newId('tpl')
    templates.set(copy, id)
    const source = { snapshot_id: snapshots.get(copy)! }
    await createTemplate(app, actor, id, { name: `t-${id.slice(-12)}`, description: '', ...source })
  }

  async function dropName({ copy, as }: Happening<'dropped'>): Promise<void> {
    if (as === 'template') await deleteTemplate(app, actor, templates.get(copy)!)
    else await deleteSnapshot(app, actor, snapshots.get(copy)!)
  }
}
