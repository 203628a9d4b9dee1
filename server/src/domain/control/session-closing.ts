import type { MachineId, SessionId } from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { Tx } from '../../db/database.ts'
import { clearHolder } from './grants.ts'
import type { Lease } from './lease-row.ts'
import { pushReleasedFence } from './leases.ts'
import { recordClosed } from './session-sockets.ts'
import { abandonedAfter, getSession, requireOpener, type SessionWithState } from './sessions.ts'

type ClosingApp = Pick<App, 'db' | 'guests' | 'changes' | 'log'>
type OpenSession = { readonly id: SessionId; readonly machineId: MachineId }

/**
 * Closes a session for ever and releases its lease. Repeating it changes nothing. Callers with
 * machines:control may close sessions of others, since they could take over the lease anyway.
 */
export async function closeSession(
  app: ClosingApp,
  actor: Actor,
  id: SessionId,
): Promise<SessionWithState> {
  const { session, released } = await app.db.transaction().execute(async (tx) => {
    const found = await getSession(tx, actor, id)
    if (!actor.permissions.has('machines:control')) requireOpener(actor, found)
    if (found.state === 'closed') return { session: found, released: null }
    const lease = await endSession(tx, { id, machineId: found.machine_id })
    return { session: await getSession(tx, actor, id), released: lease }
  })
  app.changes.publish(session.machine_id)
  if (released) await pushReleasedFence(app, session.machine_id)
  return session
}

/**
 * Closes a session within a transaction and releases its lease, which is returned as it was. The lease is locked first,
 * as when it is acquired. After the commit the caller must publish the change and, if a lease was released, push the
 * fence.
 */
export async function endSession(
  tx: Tx,
  { id, machineId }: OpenSession,
  message?: string,
): Promise<Lease | null> {
  const lease = await clearHolder(tx, machineId, id, message)
  await recordClosed(tx, machineId, id, message)
  return lease
}

/** Records that abandoned sessions are closed. Readers see them as closed even before that. */
export async function closeAbandonedSessions(app: ClosingApp): Promise<void> {
  const abandoned = await app.db
    .selectFrom('sessions')
    .select(['id', 'machine_id as machineId'])
    .where('closed_at', 'is', null)
    .where('last_active_at', '<', sql<Date>`now() - ${abandonedAfter}`)
    .limit(batch)
    .execute()
  await closeWithoutActor(app, abandoned, 'idle for 24 hours')
}

/**
 * Closes sessions whose opener may not act any more: the key was revoked or has expired, its creator or
 * the user was disabled or has left the organization. Their leases end with them.
 */
export async function closeRevokedSessions(app: ClosingApp): Promise<void> {
  for (let found = batch; found === batch;) {
    const revoked = await app.db
      .selectFrom('sessions as s')
      .select(['s.id', 's.machine_id as machineId'])
      .where('s.closed_at', 'is', null)
      .where((eb) => eb.not(eb.or([eb.exists(memberWhoOpened), eb.exists(keyThatOpened)])))
      .limit(batch)
      .execute()
    await closeWithoutActor(app, revoked, 'its opener has lost access')
    found = revoked.length
  }
}

const batch = 100

const memberWhoOpened = sql`(
  select from memberships m join users u on u.id = m.user_id
  where s.opened_by_type = 'user' and m.user_id = s.opened_by_id
    and m.organization_id = s.organization_id and u.disabled_at is null
)`
const keyThatOpened = sql`(
  select from api_keys k
  join memberships m on m.user_id = k.created_by and m.organization_id = k.organization_id
  join users u on u.id = k.created_by
  where s.opened_by_type = 'api_key' and k.id = s.opened_by_id
    and k.revoked_at is null and u.disabled_at is null
    and (k.expires_at is null or k.expires_at > now())
)`

async function closeWithoutActor(
  app: ClosingApp,
  sessions: readonly OpenSession[],
  message: string,
): Promise<void> {
  const close = async (session: OpenSession) => {
    const released = await app.db
      .transaction()
      .execute(async (tx) => endSession(tx, session, message))
    app.changes.publish(session.machineId)
    if (released) await pushReleasedFence(app, session.machineId)
  }
  // Concurrently, because an agent may be silent on purpose.
  await Promise.all(sessions.map(close))
}
