import { sql } from 'kysely'
import type { App } from '../../app.ts'
import { inMs } from '../claims.ts'

/*
 * Duties are the work that one worker does for all hosts: placing events, mails, sweeps of rows. They hang on a lease,
 * so that the work does not grow with the number of hosts. Each duty may run twice at the same time, as when a worker
 * was stalled past the lease.
 */

/** Takes the duties for this host, or renews them. False while another host has them. */
export async function holdDuties(app: Pick<App, 'db' | 'config' | 'timing'>): Promise<boolean> {
  const { host } = app.config
  const { numUpdatedRows } = await app.db
    .updateTable('duties')
    .set({ host, held_until: inMs(app.timing.claimMs) })
    .where((eb) =>
      eb.or([eb('host', '=', host), eb('held_until', '<', sql<Date>`clock_timestamp()`)]),
    )
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Lets another host take the duties at once. */
export async function releaseDuties(app: Pick<App, 'db' | 'config'>): Promise<void> {
  await app.db
    .updateTable('duties')
    .set({ held_until: sql`clock_timestamp()` })
    .where('host', '=', app.config.host)
    .execute()
}
