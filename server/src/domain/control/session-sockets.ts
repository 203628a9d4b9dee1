import type { MachineId, SessionId } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { Database, Tx } from '../../db/database.ts'
import { appendEvent } from '../events/events.ts'
import { lockAnyMachine } from '../find-machine.ts'

/*
 * The sockets that sessions have open at the gateways, and what the log says of it. A session is
 * connected from when it is opened. It is disconnected when its last socket closes, or it is closed
 * itself, and connected again with its next socket: the two events take turns.
 *
 * Each socket is a row, which its gateway touches. A gateway that is killed leaves rows that nobody
 * touches: a minute later the worker takes them for closed.
 *
 * The machine is locked before the session, as wherever an event goes with a change of a session.
 */

export type SessionSocket = { readonly machineId: MachineId; readonly sessionId: SessionId }
export type SocketId = string

const unseenAfter = sql`interval '60 seconds'`

/** Null if the session was closed meanwhile. */
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
    return { id, isNews: !session.connected }
  })
  if (noted?.isNews) app.changes.publish(machineId)
  return noted && noted.id
}

export async function noteSocketClosed(
  app: Pick<App, 'db' | 'changes'>,
  { machineId, sessionId }: SessionSocket,
  id: SocketId,
): Promise<void> {
  const isNews = await app.db.transaction().execute(async (tx) => {
    const session = await lockOpenSession(tx, machineId, sessionId)
    await tx.deleteFrom('session_sockets').where('id', '=', id).execute()
    return session?.connected && (await disconnectUnlessOpen(tx, machineId, sessionId))
  })
  if (isNews) app.changes.publish(machineId)
}

/** Their sessions stay active. Answers those that are still noted. */
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
    // Whoever holds one locked touches it as well, or closes it.
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

/** What gateways left behind that are no more. */
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

/** The session is closed for ever; its sockets close for that. */
export async function noteClosed(
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

/** A session that is closed, or whose machine is gone, has nothing more to be told. */
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
