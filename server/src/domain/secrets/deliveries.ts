import type { MachineId } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { MachineRow } from '../../db/database.ts'
import { claimDue, inMs } from '../claims.ts'

/* Machines whose secrets have to be delivered. Each host's worker claims them separately from the machines. */

export type Delivery = { readonly id: MachineId; readonly attempts: number }

/** Whether the machine `m` lacks what its row of secret_deliveries has, or has lost it with a boot. */
export const isUndelivered = sql<boolean>`
  (delivered_revision < revision or delivered_run is distinct from m.generation || '.' || m.boots)`

export async function claimDeliveries(
  app: Pick<App, 'db' | 'timing' | 'config'>,
  workerId: string,
  limit: number,
): Promise<Delivery[]> {
  const due = app.db
    .selectFrom('secret_deliveries')
    .innerJoin('machines as m', 'm.id', 'secret_deliveries.id')
    .select('secret_deliveries.id')
    .where('m.host', '=', app.config.host)
    .where('m.state', '=', 'running')
    .where('m.deleted_at', 'is', null)
    .where('secret_deliveries.next_attempt_at', '<=', sql<Date>`clock_timestamp()`)
    .where(isUndelivered)
    .orderBy('secret_deliveries.next_attempt_at')
  return claimDue(app, 'secret_deliveries', due, { workerId, limit })
}

/** Schedules the retry of a failed delivery, unless the set has changed since and is due at once. */
export async function postponeDelivery(
  app: Pick<App, 'db'>,
  id: MachineId,
  revision: number,
  delayMs: number,
): Promise<void> {
  await app.db
    .updateTable('secret_deliveries')
    .set({
      attempts: sql`attempts + 1`,
      next_attempt_at: inMs(delayMs),
    })
    .where('id', '=', id)
    .where('revision', '=', revision)
    .execute()
}

/** The machine may have lost what was delivered: makes it due again. */
export async function forgetDelivery(app: Pick<App, 'db'>, id: MachineId): Promise<void> {
  await app.db
    .updateTable('secret_deliveries')
    .set({ delivered_run: null })
    .where('id', '=', id)
    .execute()
}

export async function findRunning(
  app: Pick<App, 'db'>,
  id: MachineId,
): Promise<MachineRow | undefined> {
  return app.db
    .selectFrom('machines')
    .selectAll()
    .where('id', '=', id)
    .where('state', '=', 'running')
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
}

/** The running machines of this host that hold a delivered set, of all organizations. */
export async function listDelivered(app: Pick<App, 'db' | 'config'>): Promise<MachineRow[]> {
  return app.db
    .selectFrom('machines as m')
    .innerJoin('secret_deliveries as d', 'd.id', 'm.id')
    .selectAll('m')
    .where('m.host', '=', app.config.host)
    .where('m.state', '=', 'running')
    .where('m.deleted_at', 'is', null)
    .where('d.delivered_run', 'is not', null)
    .execute()
}
