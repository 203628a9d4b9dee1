import type { MachineId, SessionId } from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import { clearHolder } from './grants.ts'
import { pushReleasedFence } from './leases.ts'
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
  if (released) await pushReleasedFence(app, session.machine_id)
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

/**
 * Closes sessions whose opener may not act any more: the key was revoked or has expired, its creator or
 * the user was disabled or has left the organization. Their leases end with them.
 */
export async function closeRevokedSessions(
  app: Pick<App, 'db' | 'guests' | 'changes' | 'log'>,
): Promise<void> {
  for (let found = batch; found === batch;) {
    const revoked = await app.db
      .selectFrom('sessions as s')
      .select(['s.id', 's.machine_id as machineId'])
      .where('s.closed_at', 'is', null)
      .where((eb) => eb.not(eb.or([eb.exists(memberWhoOpened), eb.exists(keyThatOpened)])))
      .limit(batch)
      .execute()
    // Concurrently, because an agent may be silent on purpose.
    await Promise.all(revoked.map((session) => closeRevokedSession(app, session)))
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

async function closeRevokedSession(
  app: Pick<App, 'db' | 'guests' | 'changes' | 'log'>,
  { id, machineId }: { readonly id: SessionId; readonly machineId: MachineId },
): Promise<void> {
  const message = 'its opener has lost access'
  const released = await app.db.transaction().execute(async (tx) => {
    const lease = await clearHolder(tx, machineId, id, message)
    await recordClosed(tx, machineId, id, message)
    return lease
  })
  app.changes.publish(machineId)
  if (released) await pushReleasedFence(app, machineId)
}
