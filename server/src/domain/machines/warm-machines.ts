import type { ImageId, MachineId } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { Database, MachineRow, Tx, WarmMachineRow } from '../../db/database.ts'
import type { MachineRef } from '../../drivers/machine-driver.ts'
import { newId } from '../../ids.ts'
import { anyLocked, claimDue, inMs } from '../claims.ts'
import { hasDiskRoom } from '../hosts/capacity.ts'
import { freeUidSlot, takeUidSlot } from './uid-slots.ts'

/*
 * Warm machines are booted in advance, wait frozen, and belong to nobody. The worker makes them
 * (worker/warm). `making` covers all that brings one to `ready`, also again after it was disturbed; only a
 * `ready` one is taken, and nothing touches it before. One that is no longer wanted is `ending`.
 */

/** The base that a warm machine must have to be taken. Its limits are set when it is woken. */
export type WarmPlan = Pick<MachineRow, 'image_id' | 'base_capture_id' | 'disk_gb' | 'region'>

export type Taken = Pick<WarmMachineRow, 'id' | 'host' | 'uid_slot' | 'generation'>

/**
 * Takes a warm machine for a create: from the commit on, it is that of a machine with its id, its uid slot
 * and its generation. Undefined when none is ready, or another call is just taking it.
 */
export async function takeWarm(tx: Tx, plan: WarmPlan): Promise<Taken | undefined> {
  const ready = tx
    .selectFrom('warm_machines')
    .innerJoin('hosts', 'hosts.name', 'warm_machines.host')
    .select('warm_machines.id')
    .where('warm_machines.state', '=', 'ready')
    .where('image_id', '=', plan.image_id)
    .where('base_capture_id', 'is not distinct from', plan.base_capture_id)
    // A disk never shrinks.
    .where('disk_gb', '<=', plan.disk_gb)
    .where('hosts.state', '=', 'ready')
    .where('unhealthy_reason', 'is', null)
    .where(hasDiskRoom)
    .orderBy(sql`region = ${plan.region}`, 'desc')
    .orderBy('ready_at')
  return tx
    .deleteFrom('warm_machines')
    .where('id', '=', anyLocked(ready, 'warm_machines', 1))
    .returning(['id', 'host', 'uid_slot', 'generation'])
    .executeTakeFirst()
}

export type WarmSpec = Pick<
  WarmMachineRow,
  'image_id' | 'base_capture_id' | 'size' | 'cpu' | 'memory_mb' | 'disk_gb' | 'agent_build'
>
/** How many warm machines of a kind there should be. */
export type Wanted = { readonly spec: WarmSpec; readonly count: number }

/**
 * Brings the pool of this host to what is wanted: ends others and, if it may, adds what is missing. Nothing is
 * added before the pool has room beside those that end. Several workers that do this at once end with the same.
 */
export async function fitPool(
  app: Pick<App, 'db' | 'config'>,
  imageId: ImageId,
  wanted: readonly Wanted[],
  mayAdd: () => Promise<boolean>,
): Promise<void> {
  // Most of the time nothing is to be done, which must not cost a write.
  const { host } = app.config
  const { missing, surplus } = await comparePool(app.db, host, wanted)
  const adds = missing.length > surplus.length && (await mayAdd())
  if (!adds && surplus.length === 0) return
  await app.db.transaction().execute(async (tx) => {
    await lockPool(tx, imageId)
    const now = await comparePool(tx, host, wanted)
    if (adds) for (const spec of now.missing) await insertWarm(tx, host, spec)
    if (now.surplus.length > 0) await endWarm(tx, now.surplus)
  })
}

async function comparePool(
  db: Database,
  host: string,
  wanted: readonly Wanted[],
): Promise<{ readonly missing: readonly WarmSpec[]; readonly surplus: readonly MachineId[] }> {
  const rows = await db
    .selectFrom('warm_machines')
    .selectAll()
    .where('host', '=', host)
    .where('state', '!=', 'ending')
    // A machine that is ready is worth more than one that is still made.
    .orderBy(sql`ready_at nulls last`)
    .orderBy('id')
    .execute()
  const kept = new Set<WarmMachineRow>()
  const missing = wanted.flatMap(({ spec, count }) => {
    const fitting = rows.filter((row) => !kept.has(row) && isMadeAs(row, spec)).slice(0, count)
    for (const row of fitting) kept.add(row)
    return Array.from({ length: count - fitting.length }, () => spec)
  })
  return { missing, surplus: rows.filter((row) => !kept.has(row)).map(({ id }) => id) }
}

function isMadeAs(row: WarmMachineRow, spec: WarmSpec): boolean {
  return (Object.keys(spec) as (keyof WarmSpec)[]).every((key) => row[key] === spec[key])
}

/** One pass over the pool at a time. The default image stands for the pool. */
async function lockPool(tx: Tx, id: ImageId): Promise<void> {
  await tx.selectFrom('images').select('id').where('id', '=', id).forNoKeyUpdate().execute()
}

async function insertWarm(tx: Tx, host: string, spec: WarmSpec): Promise<void> {
  const id = newId('mch')
  const slot = await takeUidSlot(tx, id)
  await tx
    .insertInto('warm_machines')
    .values({ id, host, uid_slot: slot, ...spec })
    .execute()
}

async function endWarm(tx: Tx, ids: readonly MachineId[]): Promise<void> {
  await tx
    .updateTable('warm_machines')
    .set({ state: 'ending', attempts: 0, next_attempt_at: sql`now()` })
    .where('id', 'in', ids)
    .execute()
}

/** Warm machines that are due to be made or ended, as claimed by this worker. */
export async function claimWarm(
  app: Pick<App, 'db' | 'timing' | 'config'>,
  workerId: string,
  limit: number,
): Promise<WarmMachineRow[]> {
  const due = app.db
    .selectFrom('warm_machines')
    .select('id')
    .where('host', '=', app.config.host)
    .where('state', '!=', 'ready')
    .where('next_attempt_at', '<=', sql<Date>`clock_timestamp()`)
    .orderBy('next_attempt_at')
  return claimDue(app, 'warm_machines', due, { workerId, limit })
}

/** Whether the claim that the row was read with still holds, and the machine is still wanted. */
export async function isStillMaking(db: Database, row: WarmMachineRow): Promise<boolean> {
  const held = await db
    .selectFrom('warm_machines')
    .select('id')
    .where(claimOf(row))
    .where('state', '=', 'making')
    .executeTakeFirst()
  return held !== undefined
}

/**
 * Offers a frozen machine to creates. False, without an effect, if `isStillMaking` is. The claim ends with the
 * same statement: a create passes over a row that somebody is just writing.
 */
export async function recordReady(app: Pick<App, 'db'>, row: WarmMachineRow): Promise<boolean> {
  const { numUpdatedRows } = await app.db
    .updateTable('warm_machines')
    .set({
      state: 'ready',
      ready_at: sql`clock_timestamp()`,
      attempts: 0,
      claimed_by: null,
      claimed_until: null,
    })
    .where(claimOf(row))
    .where('state', '=', 'making')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

function claimOf({ id, claimed_by: claim }: WarmMachineRow) {
  return sql<boolean>`id = ${id} and claimed_by = ${claim} and claimed_until > clock_timestamp()`
}

/** Takes a machine out of the pool until it is ready again. One that was taken is left alone. */
export async function makeAgain(
  app: Pick<App, 'db'>,
  { id, generation }: MachineRef,
): Promise<void> {
  await withdraw(app).where('id', '=', id).where('generation', '=', generation).execute()
}

/** Takes machines out of the pool for a moment that have waited frozen for longer than that. */
export async function refreshWarm(app: Pick<App, 'db' | 'config'>, ms: number): Promise<void> {
  const since = sql<Date>`clock_timestamp() - make_interval(secs => ${ms / 1000})`
  await withdraw(app).where('host', '=', app.config.host).where('ready_at', '<', since).execute()
}

function withdraw(app: Pick<App, 'db'>) {
  return app.db
    .updateTable('warm_machines')
    .set({ state: 'making', next_attempt_at: sql`now()` })
    .where('state', '=', 'ready')
}

/** Has the step tried again then. Without an effect if the claim no longer holds. */
export async function postponeWarm(
  app: Pick<App, 'db'>,
  row: WarmMachineRow,
  delayMs: number,
): Promise<void> {
  await app.db
    .updateTable('warm_machines')
    .set({ next_attempt_at: inMs(delayMs) })
    .where(claimOf(row))
    .execute()
}

/**
 * A step failed. What it left of a machine that was to be made is given up with its generation. False,
 * without an effect, if the claim no longer holds.
 */
export async function recordAttempt(
  app: Pick<App, 'db'>,
  row: WarmMachineRow,
  delayMs: number,
): Promise<boolean> {
  const { numUpdatedRows } = await app.db
    .updateTable('warm_machines')
    .set({
      next_attempt_at: inMs(delayMs),
      attempts: sql`attempts + 1`,
      ...(row.state === 'making' && { generation: sql`generation + 1` }),
    })
    .where(claimOf(row))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Removes the row of a machine whose disk is gone. */
export async function forgetWarm(app: Pick<App, 'db'>, id: MachineId): Promise<void> {
  await app.db.transaction().execute(async (tx) => {
    const { numDeletedRows } = await tx
      .deleteFrom('warm_machines')
      .where('id', '=', id)
      .where('state', '=', 'ending')
      .executeTakeFirst()
    if (numDeletedRows > 0n) await freeUidSlot(tx, id)
  })
}

/** The warm machines of one host, or of all hosts. */
export async function listWarm(db: Database, host?: string): Promise<WarmMachineRow[]> {
  return db
    .selectFrom('warm_machines')
    .selectAll()
    .$if(host !== undefined, (rows) => rows.where('host', '=', host!))
    .execute()
}

/** The machines of the last 24 hours, and how many of them were taken warm. */
export async function countTaken(
  db: Database,
): Promise<{ readonly created: number; readonly taken: number }> {
  return db
    .selectFrom('machines')
    .select((eb) => [
      eb.fn.countAll<number>().as('created'),
      eb.fn.count<number>('requested_id').as('taken'),
    ])
    .where('created_at', '>', sql<Date>`now() - interval '24 hours'`)
    .executeTakeFirstOrThrow()
}
