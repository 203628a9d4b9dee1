import type { App } from '../../app.ts'
import { appendEvent } from '../events/events.ts'

/**
 * Records that the host of the engine is unhealthy, once until it is healthy again, and says so in the
 * logs of the machines that are not at rest there (event host.unhealthy).
 */
export async function recordUnhealthy(
  app: Pick<App, 'db' | 'changes'>,
  reason: string,
): Promise<void> {
  const affected = await app.db.transaction().execute(async (tx) => {
    const { numInsertedOrUpdatedRows: inserted } = await tx
      .insertInto('host_health')
      .values({ reason })
      .onConflict((known) => known.doNothing())
      .executeTakeFirstOrThrow()
    if (inserted === 0n) return []
    const machines = await tx
      .selectFrom('machines')
      .select('id')
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

/** There is no event for it: the machines' own events go on. */
export async function recordHealthy(app: Pick<App, 'db'>): Promise<void> {
  await app.db.deleteFrom('host_health').execute()
}
