import type { MachineId, SessionId } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { Database, Tx } from '../../db/database.ts'
import { appendEvent } from '../events/events.ts'
import { lockAnyMachine } from '../find-machine.ts'

/*
 * The sockets that sessions have open at the gateways, and their events. A session is connected from
 * when it is opened. It is disconnected when its last socket closes or the session itself is closed,
 * and connected again with its next socket, so the two events alternate.
 *
 * Each socket has a row, which its gateway touches. The rows of a gateway that was killed are no longer
 * touched, and a minute later the worker treats their sockets as closed.
 *
 * The machine is locked before the session, as in all changes of a session that add an event.
 */

export type SessionSocket = { readonly machineId: MachineId; readonly sessionId: SessionId }
export type SocketId = string

const unseenAfter = sql`interval '60 seconds'`

/** Resolves to null if the session was closed meanwhile. */
export async function noteSocketOpened(
  app: Pick<App, 'db' | 'changes'>,
  { machineId, sessionId }: SessionSocket,
): Promise<SocketId | null> {
  const noted = await app.db.transaction().execute(async (tx) => {
    const session = await lockOpenSession(tx, machineId, sessionId)
    if (!session) return null
    await tx
      .updateTable('sessions')
      .set({ connected: true, last_active_at: sql`now()` })
      .where('id', '=', sessionId)
      .execute()
    if (!session.connected) {
      await appendEvent(tx, machineId, { type: 'session.connected', sessionId })
    }
    const { id } = await tx
      .insertInto('session_sockets')
      .values({ session_id: sessionId })
      .returning('id')
      .executeTakeFirstOrThrow()
    return { id, isChange: !session.connected }
  })
  if (noted?.isChange) app.changes.publish(machineId)
  return noted && noted.id
}

export async function noteSocketClosed(
  app: Pick<App, 'db' | 'changes'>,
  { machineId, sessionId }: SessionSocket,
  id: SocketId,
): Promise<void> {
  const isChange = await app.db.transaction().execute(async (tx) => {
    const session = await lockOpenSession(tx, machineId, sessionId)
    await tx.deleteFrom('session_sockets').where('id', '=', id).execute()
    return session?.connected && (await disconnectUnlessOpen(tx, machineId, sessionId))
  })
  if (isChange) app.changes.publish(machineId)
}

/** Keeps the sessions of these sockets active. Resolves to the sockets that still have a row. */
export async function touchSockets(
  db: Database,
  ids: readonly SocketId[],
): Promise<ReadonlySet<SocketId>> {
  const seen = await db
    .updateTable('session_sockets')
    .set({ seen_at: sql`now()` })
    .where('id', 'in', ids)
    .returning(['id', 'session_id'])
    .execute()
  if (seen.length > 0) {
    // A transaction that has a session locked touches it as well, or closes it.
    const free = db
      .selectFrom('sessions')
      .select('id')
      .where('id', 'in', [...new Set(seen.map((socket) => socket.session_id))])
      .where('closed_at', 'is', null)
      .forNoKeyUpdate()
      .skipLocked()
    await db
      .updateTable('sessions')
      .set({ last_active_at: sql`now()` })
      .where('id', 'in', free)
      .execute()
  }
  return new Set(seen.map((socket) => socket.id))
}

/** Closes the sockets of gateways that were killed. */
export async function forgetUnseenSockets(app: Pick<App, 'db' | 'changes'>): Promise<void> {
  const unseen = await app.db
    .selectFrom('session_sockets as k')
    .innerJoin('sessions as s', 's.id', 'k.session_id')
    .select(['k.id', 's.id as sessionId', 's.machine_id as machineId'])
    .where('k.seen_at', '<', sql<Date>`now() - ${unseenAfter}`)
    .limit(100)
    .execute()
  for (const { id, ...socket } of unseen) await noteSocketClosed(app, socket, id)
}

/** Records that a session is closed for ever; the gateways then close its sockets. */
export async function recordClosed(
  tx: Tx,
  machineId: MachineId,
  sessionId: SessionId,
  message?: string,
): Promise<void> {
  const session = await lockOpenSession(tx, machineId, sessionId)
  if (!session) return
  await tx
    .updateTable('sessions')
    .set({ closed_at: sql`now()`, connected: false })
    .where('id', '=', sessionId)
    .execute()
  if (!session.connected) return
  await appendEvent(tx, machineId, {
    type: 'session.disconnected',
    sessionId,
    ...(message !== undefined && { message }),
  })
}

async function disconnectUnlessOpen(tx: Tx, machineId: MachineId, sessionId: SessionId) {
  const other = await tx
    .selectFrom('session_sockets')
    .select('id')
    .where('session_id', '=', sessionId)
    .limit(1)
    .executeTakeFirst()
  if (other) return false
  await tx.updateTable('sessions').set({ connected: false }).where('id', '=', sessionId).execute()
  await appendEvent(tx, machineId, { type: 'session.disconnected', sessionId })
  return true
}

/** Undefined for a session that is closed or whose machine is gone: its log has ended. */
async function lockOpenSession(tx: Tx, machineId: MachineId, id: SessionId) {
  const machine = await lockAnyMachine(tx, machineId)
  if (machine.deleted_at !== null) return undefined
  return tx
    .selectFrom('sessions')
    .select('connected')
    .where('id', '=', id)
    .where('machine_id', '=', machineId)
    .where('closed_at', 'is', null)
    .forNoKeyUpdate()
    .executeTakeFirst()
}
