import {
  restingStates,
  type CreateMachine,
  type MachineId,
  type MachineSize,
} from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../actor.ts'
import type { App } from '../app.ts'
import type { Database, MachineRow, Tx } from '../db/database.ts'
import { ApiError, conflict, illegalMove, notFound, notRunning } from '../errors.ts'
import { isUniqueViolation } from '../db/errors.ts'
import { getEntitlements, getSize, requireNoShrink, requireRoom, requireSize } from './catalog.ts'
import { appendEvent, insertEvent } from './events.ts'
import { resolveImage } from './images.ts'
import { moveMachine } from './machine-states.ts'
import { generateMachineName } from './names.ts'
import { pageById, type PageRequest } from './page.ts'

type Changing = Pick<App, 'db' | 'changes'>

export type MachineFilter = PageRequest & {
  readonly state?: MachineRow['state'] | undefined
  readonly name?: string | undefined
  readonly template_id?: MachineRow['template_id'] | undefined
  readonly metadata?: Record<string, string> | undefined
}

/**
 * Writes the intent; the worker makes the machine. Called again with the id of an earlier call that
 * was cut off, it answers the machine of that call.
 */
export async function createMachine(
  app: Changing & Pick<App, 'config'>,
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

/** Reads a machine of the actor's organization. Another organization's machine does not exist. */
export async function getMachine(db: Database, actor: Actor, id: MachineId): Promise<MachineRow> {
  const machine = await db
    .selectFrom('machines')
    .selectAll()
    .where('id', '=', id)
    .where('organization_id', '=', actor.organizationId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  if (!machine) throw notFound(`machine ${id}`)
  return machine
}

/** The same, refused unless it is running. */
export async function getRunningMachine(db: Database, actor: Actor, id: MachineId) {
  const machine = await getMachine(db, actor, id)
  if (machine.state !== 'running') throw notRunning(machine.state)
  return machine
}

export async function listMachines(db: Database, actor: Actor, filter: MachineFilter) {
  const { state, name, template_id: templateId, metadata } = filter
  return pageById(filter, (before, count) =>
    db
      .selectFrom('machines')
      .selectAll()
      .where('organization_id', '=', actor.organizationId)
      .where('deleted_at', 'is', null)
      .$if(before !== null, (query) => query.where('id', '<', before as MachineId))
      .$if(state !== undefined, (query) => query.where('state', '=', state!))
      .$if(name !== undefined, (query) => query.where('name', '=', name!))
      .$if(templateId !== undefined, (query) => query.where('template_id', '=', templateId!))
      .$if(metadata !== undefined, (query) =>
        query.where(sql<boolean>`metadata @> ${JSON.stringify(metadata)}::jsonb`),
      )
      .orderBy('id', 'desc')
      .limit(count)
      .execute(),
  )
}

export async function updateMachine(
  app: Changing,
  actor: Actor,
  id: MachineId,
  change: {
    readonly name?: string | undefined
    readonly metadata?: Record<string, string> | undefined
    readonly size?: MachineSize | undefined
  },
): Promise<MachineRow> {
  try {
    const machine = await app.db.transaction().execute(async (tx) => {
      const current = await lockMachine(tx, actor, id)
      const columns = {
        ...(change.size && (await resize(tx, actor, current, change.size))),
        ...(change.name !== undefined && { name: change.name }),
        ...(change.metadata && { metadata: JSON.stringify(change.metadata) as never }),
      }
      if (Object.keys(columns).length === 0) return current
      await tx.updateTable('machines').set(columns).where('id', '=', id).execute()
      await appendEvent(tx, id, { type: 'machine.updated' })
      return getMachine(tx, actor, id)
    })
    app.changes.publish(id)
    return machine
  } catch (error) {
    if (isUniqueViolation(error, 'machine_names')) throw nameTaken(change.name!)
    throw error
  }
}

/** Asks a machine to boot: one that is stopped, or one in error, whose boot is tried again. */
export async function startMachine(app: Changing, actor: Actor, id: MachineId) {
  const start = async (tx: Tx, machine: MachineRow) => {
    if (machine.state !== 'stopped' && machine.state !== 'error') {
      throw illegalMove(machine.state, 'starting')
    }
    await requireRoomToRun(tx, actor)
    return moveMachine(tx, machine, 'starting', { wanted: 'running' })
  }
  return change(app, actor, id, start, { counts: true })
}

/** Asks a machine to shut down. The worker takes it from `stopping` to `stopped`. */
export async function stopMachine(
  app: Changing,
  actor: Actor,
  id: MachineId,
  options: { readonly force: boolean },
) {
  return change(app, actor, id, (tx, machine) =>
    moveMachine(tx, machine, 'stopping', { wanted: 'stopped', stop_by_force: options.force }),
  )
}

/** A stop followed by a start (specification, States, rule 1). */
export async function restartMachine(app: Changing, actor: Actor, id: MachineId) {
  return change(app, actor, id, (tx, machine) =>
    moveMachine(tx, machine, 'stopping', { wanted: 'running', stop_by_force: false }),
  )
}

/** Asks for a machine and its disk to go. Asking again is no error. */
export async function deleteMachine(app: Changing, actor: Actor, id: MachineId) {
  return change(app, actor, id, async (tx, machine) =>
    machine.state === 'deleting' ? machine : moveMachine(tx, machine, 'deleting'),
  )
}

/** Waits until the machine rests or the time is over, and answers it as it is then. */
export async function waitForRest(
  app: Changing,
  actor: Actor,
  id: MachineId,
  timeoutMs: number,
): Promise<MachineRow> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const changed = nextChange(app, id)
    try {
      const machine = await getMachine(app.db, actor, id)
      const leftMs = deadline - performance.now()
      if (restingStates.includes(machine.state) || leftMs <= 0) return machine
      await changed.within(Math.min(leftMs, 500))
    } finally {
      changed.forget()
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

  const entitlements = await getEntitlements(tx, actor.organizationId)
  requireSize(entitlements, wish.size)
  const counts = await countMachines(tx, actor)
  requireRoom(entitlements, 'machines', counts.machines)
  if (wish.start) requireRoom(entitlements, 'running_machines', counts.running)

  const image = await resolveImage(tx, wish.image_id)
  const size = await getSize(tx, wish.size)
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
      size: wish.size,
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

/**
 * Changes a locked row, so that an event which happens to be noted now is no conflict. Whoever counts
 * machines locks the organization first, in the order of every transaction that takes both.
 */
async function change(
  app: Changing,
  actor: Actor,
  id: MachineId,
  act: (tx: Tx, machine: MachineRow) => Promise<MachineRow>,
  options: { readonly counts: boolean } = { counts: false },
): Promise<MachineRow> {
  const machine = await app.db.transaction().execute(async (tx) => {
    if (options.counts) await lockOrganization(tx, actor)
    return act(tx, await lockMachine(tx, actor, id))
  })
  app.changes.publish(id)
  return machine
}

async function resize(tx: Tx, actor: Actor, machine: MachineRow, sizeId: MachineSize) {
  if (machine.state !== 'stopped') {
    throw new ApiError(
      'precondition_failed',
      `the machine is ${machine.state}; only a stopped machine can be resized`,
    )
  }
  requireSize(await getEntitlements(tx, actor.organizationId), sizeId)
  const size = await getSize(tx, sizeId)
  requireNoShrink(machine.disk_gb, size.disk_gb)
  return { size: sizeId, cpu: size.cpu, memory_mb: size.memory_mb, disk_gb: size.disk_gb }
}

async function lockMachine(tx: Tx, actor: Actor, id: MachineId): Promise<MachineRow> {
  await tx.selectFrom('machines').select('id').where('id', '=', id).forNoKeyUpdate().execute()
  return getMachine(tx, actor, id)
}

async function requireRoomToRun(tx: Tx, actor: Actor): Promise<void> {
  const entitlements = await getEntitlements(tx, actor.organizationId)
  const { running } = await countMachines(tx, actor)
  requireRoom(entitlements, 'running_machines', running)
}

/** Counts under a lock on the organization, so that two creates cannot both take the last place. */
async function countMachines(tx: Tx, actor: Actor) {
  await lockOrganization(tx, actor)
  return tx
    .selectFrom('machines')
    .select((eb) => [
      eb.fn.countAll<number>().as('machines'),
      eb.fn
        .countAll<number>()
        .filterWhere('wanted', '=', 'running')
        .filterWhere('state', 'not in', ['stopped', 'error', 'deleting'])
        .as('running'),
    ])
    .where('organization_id', '=', actor.organizationId)
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow()
}

/** No key update: rows that refer to it, an event of the worker say, are inserted meanwhile. */
async function lockOrganization(tx: Tx, actor: Actor): Promise<void> {
  await tx
    .selectFrom('organizations')
    .select('id')
    .where('id', '=', actor.organizationId)
    .forNoKeyUpdate()
    .execute()
}

function nextChange(app: Pick<App, 'changes'>, id: MachineId) {
  const { promise, resolve } = Promise.withResolvers<void>()
  const forget = app.changes.subscribe((changed) => {
    if (changed === id) resolve()
  })
  return {
    forget,
    async within(ms: number) {
      const timer = setTimeout(resolve, ms)
      await promise
      clearTimeout(timer)
    },
  }
}

function nameTaken(name: string): ApiError {
  return conflict(`a machine of this organization is already called ${name}`)
}
