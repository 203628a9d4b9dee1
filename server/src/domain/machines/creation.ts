import type { CaptureId, CreateMachine, ImageId, MachineId } from '@computer/contract'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { MachineRow, Tx } from '../../db/database.ts'
import { isUniqueViolation } from '../../db/errors.ts'
import { invalid } from '../../errors.ts'
import { insertLease } from '../control/grants.ts'
import { createdBy, labelsFrom, runBy } from '../events/attribution.ts'
import { getSize, requireNoShrink } from '../accounts/plans.ts'
import { requireBudgets } from '../budgets/start-check.ts'
import { insertEvent } from '../events/events.ts'
import { getMachine } from '../find-machine.ts'
import { resolveImage } from '../disks/images.ts'
import { requireRoomForMachine } from './quota.ts'
import { nameTaken } from './machines.ts'
import { place } from './place.ts'
import { generateMachineName } from '../names.ts'
import { lockOrganization } from '../accounts/organizations.ts'
import { holdTemplate } from '../disks/templates.ts'
import { takeWarm, type Taken } from './warm-machines.ts'
import { takeUidSlot } from './uid-slots.ts'

type Creating = Pick<App, 'config' | 'db' | 'changes'>

/**
 * Inserts the row; the worker makes the machine, or wakes one of the pool, whose id then differs from this
 * one. A repeated call with the same id returns the machine of the first call.
 */
export async function createMachine(
  app: Creating,
  actor: Actor,
  id: MachineId,
  input: CreateMachine,
): Promise<MachineRow> {
  return insertNamed(app, actor, id, input.name, async (tx, name) => {
    const base = await findBase(tx, actor, input)
    const size = await getSize(tx, input.size ?? base.size)
    if (base.diskGb !== null) requireNoShrink(base.diskGb, size.disk_gb)
    return insertMachine(tx, actor, {
      id,
      name,
      size: size.id,
      cpu: size.cpu,
      memory_mb: size.memory_mb,
      disk_gb: size.disk_gb,
      image_id: base.imageId,
      template_id: input.template ?? null,
      base_capture_id: base.captureId,
      region: input.region ?? app.config.region,
      metadata: input.metadata,
      wanted: input.start ? 'running' : 'stopped',
    })
  })
}

/** Inserts a machine under the requested name, or under a generated one that is free. */
export async function insertNamed(
  app: Pick<App, 'db' | 'changes'>,
  actor: Actor,
  id: MachineId,
  requestedName: string | undefined,
  insert: (tx: Tx, name: string) => Promise<MachineRow>,
): Promise<MachineRow> {
  for (let attempt = 0; ; attempt++) {
    const name = requestedName ?? generateMachineName()
    try {
      const machine = await app.db.transaction().execute(async (tx) => {
        await lockOrganization(tx, actor)
        const existing = await findRequested(tx, id)
        return existing ? getMachine(tx, actor, existing.id) : insert(tx, name)
      })
      app.changes.publish(machine.id)
      return machine
    } catch (error) {
      if (!isUniqueViolation(error, 'machine_names')) throw error
      if (requestedName !== undefined || attempt === 9) throw nameTaken(name)
    }
  }
}

/** The machine that an earlier call with this id has made. One that was taken warm has another id. */
async function findRequested(tx: Tx, id: MachineId) {
  return tx
    .selectFrom('machines')
    .select('id')
    .where((eb) => eb.or([eb('id', '=', id), eb('requested_id', '=', id)]))
    .executeTakeFirst()
}

/**
 * A machine that is to be made, within the plan. The organization is locked. A machine of the pool
 * takes its place if one is ready, with an id of its own.
 */
export async function insertMachine(
  tx: Tx,
  actor: Actor,
  plan: NewMachine,
  message?: string,
): Promise<MachineRow> {
  await requireRoomForMachine(tx, actor, plan)
  const labels = labelsFrom(actor.organizationId, plan.metadata)
  if (plan.wanted === 'running') await requireBudgets(tx, actor, { ...plan, labels })

  const warm = isFromPool(plan) ? await takeWarm(tx, plan) : undefined
  const machine = await tx
    .insertInto('machines')
    .values({
      ...plan,
      organization_id: actor.organizationId,
      state: 'creating',
      os: 'linux',
      metadata: JSON.stringify(plan.metadata) as never,
      ...createdBy(actor),
      ...runBy(actor),
      labels,
      ...(warm
        ? takenColumns(plan.id, warm)
        : { host: await place(tx, plan), uid_slot: await takeUidSlot(tx, plan.id) }),
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  await insertLease(tx, machine.id)
  await insertEvent(tx, machine, {
    type: 'machine.created',
    to: 'creating',
    ...(message !== undefined && { message }),
  })
  return machine
}

/** Machines of the pool have what their image or their template has, and run. */
function isFromPool(plan: NewMachine): boolean {
  const isFork = plan.base_capture_id !== null && plan.template_id === null
  return !isFork && plan.wanted === 'running'
}

/** The columns of a machine that takes the place of a warm one. */
function takenColumns(requested: MachineId, warm: Taken) {
  const { generation } = warm
  return { ...warm, last_generation: generation, requested_id: requested, is_frozen: true }
}

export type NewMachine = Pick<
  MachineRow,
  | 'id'
  | 'name'
  | 'size'
  | 'cpu'
  | 'memory_mb'
  | 'disk_gb'
  | 'image_id'
  | 'template_id'
  | 'base_capture_id'
  | 'region'
  | 'metadata'
  | 'wanted'
>

type Base = {
  readonly imageId: ImageId
  readonly size: MachineRow['size']
  readonly captureId: CaptureId | null
  readonly diskGb: number | null
}

/** The source of the disk: a template, which pins the image, or an image. */
async function findBase(tx: Tx, actor: Actor, input: CreateMachine): Promise<Base> {
  if (!input.template) {
    const image = await resolveImage(tx, input.image_id)
    return { imageId: image.id, size: 'small', captureId: null, diskGb: null }
  }
  const template = await holdTemplate(tx, actor, input.template)
  const { image_id: imageId, size, capture_id: captureId, disk_gb: diskGb } = template
  if (input.image_id !== undefined && input.image_id !== imageId) {
    throw invalid(`template ${template.id} has image ${imageId}; leave image_id out`, [
      { field: 'image_id', message: 'must be that of the template' },
    ])
  }
  return { imageId, size, captureId, diskGb }
}
