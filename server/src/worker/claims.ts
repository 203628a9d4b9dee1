import type { MachineId } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../app.ts'
import type { MachineRow } from '../db/database.ts'

/*
 * Who works on a machine. A worker takes rows that are not at rest, for a few seconds at a time, and
 * renews while it works; one that dies loses them by the clock. So there is never more than one step
 * in flight for a machine, however many workers share the database. (A worker that was stalled past
 * its claim may meet another at the engine, which is why every step can be repeated.)
 */

const claimedFor = sql`interval '8 seconds'`
export const renewEveryMs = 2_000

/** Takes up to `limit` machines that have something to be done now. */
export async function claimMachines(
  app: Pick<App, 'db'>,
  workerId: string,
  limit: number,
): Promise<MachineRow[]> {
  return app.db
    .updateTable('machines')
    .set({ claimed_by: workerId, claimed_until: sql`clock_timestamp() + ${claimedFor}` })
    .where('id', 'in', (due) =>
      due
        .selectFrom('machines')
        .select('id')
        .where('deleted_at', 'is', null)
        .where('next_attempt_at', '<=', sql<Date>`clock_timestamp()`)
        .where(sql<boolean>`(claimed_until is null or claimed_until < clock_timestamp())`)
        .where((eb) =>
          eb.or([
            eb('state', 'in', ['creating', 'stopping', 'starting', 'deleting']),
            eb.and([eb('state', '=', 'running'), eb('ready_at', 'is', null)]),
          ]),
        )
        .orderBy('next_attempt_at')
        .limit(limit)
        .forUpdate()
        .skipLocked(),
    )
    .returningAll()
    .execute()
}

export async function renewClaims(
  app: Pick<App, 'db'>,
  workerId: string,
  ids: readonly MachineId[],
): Promise<void> {
  if (ids.length === 0) return
  await app.db
    .updateTable('machines')
    .set({ claimed_until: sql`clock_timestamp() + ${claimedFor}` })
    .where('claimed_by', '=', workerId)
    .where('id', 'in', ids)
    .execute()
}

/** Lets a machine go; what remains to be done is due at `next_attempt_at`. */
export async function releaseClaim(
  app: Pick<App, 'db'>,
  workerId: string,
  id: MachineId,
): Promise<void> {
  await app.db
    .updateTable('machines')
    .set({ claimed_by: null, claimed_until: null })
    .where('claimed_by', '=', workerId)
    .where('id', '=', id)
    .execute()
}
