import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { Tx } from '../../db/database.ts'
import { hostAway } from '../../errors.ts'
import { appendEvent } from '../events/events.ts'

/** The reason of a host whose worker gives no sign of life. */
export const hostSilent = 'the host does not answer'

/**
 * Records that a host is unhealthy, once until it is healthy again, and says so in the logs of the machines that are
 * not at rest there (event host.unhealthy).
 */
export async function recordUnhealthy(
  app: Pick<App, 'db' | 'changes'>,
  host: string,
  reason: string,
): Promise<void> {
  const affected = await app.db.transaction().execute(async (tx) => {
    const known = await tx
      .selectFrom('hosts')
      .select('unhealthy_reason')
      .where('name', '=', host)
      .forUpdate()
      .executeTakeFirstOrThrow()
    if (known.unhealthy_reason === reason) return []
    const isNew = known.unhealthy_reason === null
    await tx
      .updateTable('hosts')
      .set({
        unhealthy_reason: reason,
        ...(isNew && { unhealthy_since: sql`clock_timestamp()` }),
      })
      .where('name', '=', host)
      .execute()
    if (!isNew) return []
    const machines = await tx
      .selectFrom('machines')
      .select('id')
      .where('host', '=', host)
      .where('deleted_at', 'is', null)
      .where('state', 'not in', ['stopped', 'error'])
      .orderBy('id')
      .execute()
    for (const { id } of machines) {
      await appendEvent(tx, id, { type: 'host.unhealthy', message: reason })
    }
    return machines
  })
  for (const { id } of affected) app.changes.publish(id)
}

/** Throws while the worker of the host gives no sign of life. An engine alone that fails is waited for. */
export async function requireAnswer(tx: Tx, host: string): Promise<void> {
  const silent = await tx
    .selectFrom('hosts')
    .select('name')
    .where('name', '=', host)
    .where('unhealthy_reason', '=', hostSilent)
    .executeTakeFirst()
  if (silent) throw hostAway()
}

/** Returns whether it was unhealthy. There is no event for it: the machines' own events go on. */
export async function recordHealthy(app: Pick<App, 'db'>, host: string): Promise<boolean> {
  const { numUpdatedRows } = await app.db
    .updateTable('hosts')
    .set({ unhealthy_reason: null, unhealthy_since: null })
    .where('name', '=', host)
    .where('unhealthy_reason', 'is not', null)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}
