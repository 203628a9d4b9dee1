import type { CreateMachine, MachineId } from '@computer/contract'
import type { Actor } from '../actor.ts'
import type { App } from '../app.ts'
import type { MachineRow, Tx } from '../db/database.ts'
import { isUniqueViolation } from '../db/errors.ts'
import { ApiError, notFound } from '../errors.ts'
import { getEntitlements, getSize, requireRoom, requireSize } from './catalog.ts'
import { insertEvent } from './events.ts'
import { getMachine } from './find-machine.ts'
import { resolveImage } from './images.ts'
import { countMachines } from './machine-quota.ts'
import { nameTaken } from './machines.ts'
import { generateMachineName } from './names.ts'

/**
 * Writes the intent; the worker makes the machine. Called again with the id of an earlier call that
 * was cut off, it answers the machine of that call.
 */
export async function createMachine(
  app: Pick<App, 'config' | 'db' | 'changes'>,
  actor: Actor,
  id: MachineId,
  wish: CreateMachine,
): Promise<MachineRow> {
  if (wish.template) throw notFound(`template ${wish.template}`)
  const generated = wish.name === undefined
  for (let attempt = 0; ; attempt++) {
    const name = wish.name ?? generateMachineName()
    try {
      const machine = await app.db
        .transaction()
        .execute((tx) => insertMachine(tx, app.config.region, actor, id, { ...wish, name }))
      app.changes.publish(machine.id)
      return machine
    } catch (error) {
      if (isUniqueViolation(error, 'machines_pkey')) return getMachine(app.db, actor, id)
      if (!isUniqueViolation(error, 'machine_names')) throw error
      if (!generated || attempt === 9) throw nameTaken(name)
    }
  }
}

async function insertMachine(
  tx: Tx,
  region: string,
  actor: Actor,
  id: MachineId,
  wish: CreateMachine & { readonly name: string },
): Promise<MachineRow> {
  const existing = await tx.selectFrom('machines').select('id').where('id', '=', id).execute()
  if (existing.length > 0) return getMachine(tx, actor, id)

  const wishedSize = wish.size ?? 'small'
  const entitlements = await getEntitlements(tx, actor.organizationId)
  requireSize(entitlements, wishedSize)
  const counts = await countMachines(tx, actor)
  requireRoom(entitlements, 'machines', counts.machines)
  if (wish.start) requireRoom(entitlements, 'running_machines', counts.running)

  const image = await resolveImage(tx, wish.image_id)
  const size = await getSize(tx, wishedSize)
  const slot = await tx
    .selectFrom('uid_slots')
    .select('slot')
    .where('machine_id', 'is', null)
    .orderBy('slot')
    .limit(1)
    .forUpdate()
    .skipLocked()
    .executeTakeFirst()
  if (!slot) throw new ApiError('compute_unavailable', 'this server has no room for more machines')

  const machine = await tx
    .insertInto('machines')
    .values({
      id,
      organization_id: actor.organizationId,
      name: wish.name,
      state: 'creating',
      os: 'linux',
      size: wishedSize,
      image_id: image.id,
      template_id: null,
      cpu: size.cpu,
      memory_mb: size.memory_mb,
      disk_gb: size.disk_gb,
      region: wish.region ?? region,
      metadata: JSON.stringify(wish.metadata) as never,
      uid_slot: slot.slot,
      wanted: wish.start ? 'running' : 'stopped',
    } as never)
    .returningAll()
    .executeTakeFirstOrThrow()
  await tx.updateTable('uid_slots').set({ machine_id: id }).where('slot', '=', slot.slot).execute()
  await insertEvent(tx, machine, { type: 'machine.created', to: 'creating' })
  return machine
}
