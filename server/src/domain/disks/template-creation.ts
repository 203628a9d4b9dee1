import type { CreateTemplate, MachineSize, TemplateId } from '@computer/contract'
import type { Insertable } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { Database, MachineRow, Schema, Tx } from '../../db/database.ts'
import { invalid } from '../../errors.ts'
import { newId } from '../../ids.ts'
import {
  getEntitlements,
  getSize,
  requireNoShrink,
  requireRoom,
  requireSize,
} from '../accounts/plans.ts'
import { lockMachine } from '../find-machine.ts'
import { resolveImage } from './images.ts'
import { lockOrganization } from '../accounts/organizations.ts'
import { requireDiskRoom } from '../hosts/capacity.ts'
import { requireAnswer } from '../hosts/health.ts'
import { requireRunning } from '../require-running.ts'
import { holdSnapshot, insertSnapshot } from './snapshots.ts'
import { asNameTaken, findTemplate, getTemplate, type TemplateWithState } from './templates.ts'

/**
 * Creates a template from a snapshot, from a running machine, whose disk is captured for it, or from an
 * image and a size. A repeated call with the same id returns the template of the first call.
 */
export async function createTemplate(
  app: Pick<App, 'db' | 'changes'>,
  actor: Actor,
  id: TemplateId,
  input: CreateTemplate,
): Promise<TemplateWithState> {
  requireOneSource(input)
  try {
    const template = await app.db.transaction().execute(async (tx) => {
      await lockOrganization(tx, actor)
      const existing = await findTemplate(tx, actor, id)
      if (existing) return existing
      await requireRoomForTemplate(tx, actor)
      const source = await findSource(tx, actor, input)
      await tx
        .insertInto('templates')
        .values({
          ...source,
          id,
          organization_id: actor.organizationId,
          name: input.name,
          description: input.description,
        })
        .execute()
      return getTemplate(tx, actor, id)
    })
    if (template.source_machine_id) app.changes.publish(template.source_machine_id)
    return template
  } catch (error) {
    throw asNameTaken(error, input.name)
  }
}

function requireOneSource(input: CreateTemplate): void {
  const { snapshot_id: snapshotId, machine_id: machineId, image_id: imageId } = input
  if (snapshotId && machineId) {
    throw invalid('a template is made from a snapshot or from a machine: name one of them', [
      { field: 'machine_id', message: 'must be left out with snapshot_id' },
    ])
  }
  if (imageId && (snapshotId || machineId)) {
    throw invalid('a template of a captured disk has the image of that disk: leave image_id out', [
      { field: 'image_id', message: 'must be left out with snapshot_id and machine_id' },
    ])
  }
}

type Source = Pick<
  Insertable<Schema['templates']>,
  'image_id' | 'size' | 'capture_id' | 'snapshot_id' | 'source_machine_id'
>

async function findSource(tx: Tx, actor: Actor, input: CreateTemplate): Promise<Source> {
  if (input.snapshot_id) {
    const snapshot = await holdSnapshot(tx, actor, input.snapshot_id)
    const machine = await tx
      .selectFrom('machines')
      .select('size')
      .where('id', '=', snapshot.machine_id)
      .executeTakeFirstOrThrow()
    return {
      image_id: snapshot.image_id,
      size: await requireFittingSize(tx, actor, input.size ?? machine.size, snapshot.disk_gb),
      capture_id: snapshot.capture_id,
      snapshot_id: snapshot.id,
      source_machine_id: snapshot.machine_id,
    }
  }
  if (input.machine_id)
    return captureNow(tx, actor, input, await lockMachine(tx, actor, input.machine_id))
  const image = await resolveImage(tx, input.image_id)
  const size = await requireFittingSize(tx, actor, input.size ?? 'small', 0)
  return { image_id: image.id, size }
}

async function captureNow(
  tx: Tx,
  actor: Actor,
  input: CreateTemplate,
  machine: MachineRow,
): Promise<Source> {
  await requireRunning(tx, machine)
  await requireAnswer(tx, machine.host)
  await requireDiskRoom(tx, machine.host)
  const size = await requireFittingSize(tx, actor, input.size ?? machine.size, machine.disk_gb)
  const snapshot = { id: newId('snp'), name: input.name, origin: 'template', actor } as const
  const capture = await insertSnapshot(tx, machine, snapshot)
  return {
    image_id: machine.image_id,
    size,
    capture_id: capture.id,
    snapshot_id: snapshot.id,
    source_machine_id: machine.id,
  }
}

/** Checks that a size is within the plan and its disk not smaller than the captured one. */
async function requireFittingSize(
  tx: Tx,
  actor: Actor,
  id: MachineSize,
  capturedGb: number,
): Promise<MachineSize> {
  requireSize(await getEntitlements(tx, actor.organizationId), id)
  const size = await getSize(tx, id)
  requireNoShrink(capturedGb, size.disk_gb)
  return id
}

async function requireRoomForTemplate(tx: Tx, actor: Actor): Promise<void> {
  const templates = await countTemplates(tx, actor)
  requireRoom(await getEntitlements(tx, actor.organizationId), 'templates', templates)
}

export async function countTemplates(
  db: Database,
  { organizationId }: Pick<Actor, 'organizationId'>,
): Promise<number> {
  const { templates } = await db
    .selectFrom('templates')
    .select((eb) => eb.fn.countAll<number>().as('templates'))
    .where('organization_id', '=', organizationId)
    .executeTakeFirstOrThrow()
  return templates
}
