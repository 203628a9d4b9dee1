import type { SessionId } from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import { clearHolder, pushReleasedFence } from './leases.ts'
import { recordClosed } from './session-sockets.ts'
import { abandonedAfter, getSession, requireOpener, type SessionWithState } from './sessions.ts'

/**
 * Closes a session for ever and releases its lease. Repeating it changes nothing. Callers with
 * machines:control may close sessions of others, since they could take over the lease anyway.
 */
export async function closeSession(
  app: Pick<App, 'db' | 'guests' | 'changes' | 'log'>,
  actor: Actor,
  id: SessionId,
): Promise<SessionWithState> {
  const { session, released } = await app.db.transaction().execute(async (tx) => {
    const found = await getSession(tx, actor, id)
    if (!actor.permissions.has('machines:control')) requireOpener(actor, found)
    if (found.state === 'closed') return { session: found, released: null }
    // The lease is locked first, as when it is acquired.
    const lease = await clearHolder(tx, found.machine_id, id)
    await recordClosed(tx, found.machine_id, id)
    return { session: await getSession(tx, actor, id), released: lease }
  })
  app.changes.publish(session.machine_id)
  if (released) await pushReleasedFence(app, actor, session.machine_id)
  return session
}

/** Records that abandoned sessions are closed. Readers see them as closed even before that. */
export async function closeAbandonedSessions(app: Pick<App, 'db' | 'changes'>): Promise<void> {
  const abandoned = await app.db
    .selectFrom('sessions')
    .select(['id', 'machine_id'])
    .where('closed_at', 'is', null)
    .where('last_active_at', '<', sql<Date>`now() - ${abandonedAfter}`)
    .limit(100)
    .execute()
  for (const { id, machine_id: machineId } of abandoned) {
    await app.db.transaction().execute(async (tx) => {
      await recordClosed(tx, machineId, id, 'idle for 24 hours')
    })
    app.changes.publish(machineId)
  }
}
