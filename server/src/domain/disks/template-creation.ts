import type { CreateTemplate, MachineSize, TemplateId } from '@computer/contract'
import type { Insertable } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { MachineRow, Schema, Tx } from '../../db/database.ts'
import { invalid, notRunning } from '../../errors.ts'
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
import { requireDiskRoom } from './pool.ts'
import { holdSnapshot, insertSnapshot } from './snapshots.ts'
import { asNameTaken, findTemplate, getTemplate, type TemplateWithState } from './templates.ts'

/**
 * Makes a template of a snapshot, of a running machine, whose disk is captured for it, or of an image
 * and a size. Called again with the id of an earlier call that was cut off, it answers the template
 * of that call.
 */
export async function createTemplate(
  app: Pick<App, 'db' | 'changes'>,
  actor: Actor,
  id: TemplateId,
  wish: CreateTemplate,
): Promise<TemplateWithState> {
  requireOneSource(wish)
  try {
    const template = await app.db.transaction().execute(async (tx) => {
      await lockOrganization(tx, actor)
      const existing = await findTemplate(tx, actor, id)
      if (existing) return existing
      await requireRoomForTemplate(tx, actor)
      const source = await findSource(tx, actor, wish)
      await tx
        .insertInto('templates')
        .values({
          ...source,
          id,
          organization_id: actor.organizationId,
          name: wish.name,
          description: wish.description,
        })
        .execute()
      return getTemplate(tx, actor, id)
    })
    if (template.source_machine_id) app.changes.publish(template.source_machine_id)
    return template
  } catch (error) {
    throw asNameTaken(error, wish.name)
  }
}

function requireOneSource(wish: CreateTemplate): void {
  const { snapshot_id: snapshotId, machine_id: machineId, image_id: imageId } = wish
  if (snapshotId && machineId) {
    throw invalid('a template stands on a snapshot or on a machine: name one of them', [
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

async function findSource(tx: Tx, actor: Actor, wish: CreateTemplate): Promise<Source> {
  if (wish.snapshot_id) {
    const snapshot = await holdSnapshot(tx, actor, wish.snapshot_id)
    const machine = await tx
      .selectFrom('machines')
      .select('size')
      .where('id', '=', snapshot.machine_id)
      .executeTakeFirstOrThrow()
    return {
      image_id: snapshot.image_id,
      size: await chooseSize(tx, actor, wish.size ?? machine.size, snapshot.disk_gb),
      capture_id: snapshot.capture_id,
      snapshot_id: snapshot.id,
      source_machine_id: snapshot.machine_id,
    }
  }
  if (wish.machine_id)
    return captureNow(tx, actor, wish, await lockMachine(tx, actor, wish.machine_id))
  const image = await resolveImage(tx, wish.image_id)
  const size = await chooseSize(tx, actor, wish.size ?? 'small', 0)
  return { image_id: image.id, size }
}

async function captureNow(
  tx: Tx,
  actor: Actor,
  wish: CreateTemplate,
  machine: MachineRow,
): Promise<Source> {
  if (machine.state !== 'running') throw notRunning(machine.state)
  await requireDiskRoom(tx)
  const size = await chooseSize(tx, actor, wish.size ?? machine.size, machine.disk_gb)
  const snapshot = { id: newId('snp'), name: wish.name, origin: 'template' } as const
  const capture = await insertSnapshot(tx, machine, snapshot)
  return {
    image_id: machine.image_id,
    size,
    capture_id: capture.id,
    snapshot_id: snapshot.id,
    source_machine_id: machine.id,
  }
}

/** A size within the plan whose disk holds what was captured. */
async function chooseSize(
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
  const { templates } = await tx
    .selectFrom('templates')
    .select((eb) => eb.fn.countAll<number>().as('templates'))
    .where('organization_id', '=', actor.organizationId)
    .executeTakeFirstOrThrow()
  requireRoom(await getEntitlements(tx, actor.organizationId), 'templates', templates)
}
