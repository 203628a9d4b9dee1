import type { MachineId, SessionId, SessionState, SessionType } from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { Database, SessionRow, Tx } from '../../db/database.ts'
import { ApiError, notFound } from '../../errors.ts'
import { getEntitlements, requireRoom } from '../accounts/plans.ts'
import { appendEvent } from '../events/events.ts'
import { lockOrganization } from '../accounts/organizations.ts'
import { getMachine } from '../find-machine.ts'
import { newestFirst, type PageRequest } from '../page.ts'

export type SessionWithState = SessionRow & { readonly state: SessionState }

/** A session that is idle for this long closes for ever (wire, Sessions). */
export const abandonedAfter = sql`interval '24 hours'`

/**
 * A session is active while it holds the lease or made a call in the last minute; the gateway touches
 * sessions with open sockets. The state is derived, so nothing has to run for a session to become idle.
 */
const state = sql<SessionState>`case
  when closed_at is not null or last_active_at < now() - ${abandonedAfter} then 'closed'
  when last_active_at > now() - interval '60 seconds' then 'active'
  when exists (
    select from input_leases l
    where l.machine_id = sessions.machine_id and l.session_id = sessions.id and l.expires_at > now()
  ) then 'active'
  else 'idle' end`

/** The time at which a session was abandoned is derived as well. */
const closedAt = sql<Date | null>`case
  when closed_at is null and last_active_at < now() - ${abandonedAfter}
  then last_active_at + ${abandonedAfter} else closed_at end`

/** A repeated call with the same id returns the session of the first call. */
export async function openSession(
  app: Pick<App, 'db' | 'changes'>,
  actor: Actor,
  id: SessionId,
  input: { readonly machine_id: MachineId; readonly type?: SessionType | undefined },
): Promise<SessionWithState> {
  const session = await app.db.transaction().execute(async (tx) => {
    const existing = await findSession(tx, actor, id)
    if (existing) return existing
    const machine = await getMachine(tx, actor, input.machine_id)
    await requireRoomForSession(tx, actor)
    const type = input.type ?? (actor.principal.type === 'api_key' ? 'agent' : 'human')
    await insertSession(tx, actor, id, { machineId: machine.id, type })
    return getSession(tx, actor, id)
  })
  app.changes.publish(session.machine_id)
  return session
}

/** A guest's session is opened by whoever asked for help. */
export async function insertSession(
  tx: Tx,
  { organizationId, principal, guest }: Actor,
  id: SessionId,
  session: {
    readonly machineId: MachineId
    readonly type: SessionType
    /** While it holds the lease, nobody else may look at the screen. */
    readonly isPrivate?: boolean
  },
): Promise<void> {
  const { machineId, type, isPrivate = false } = session
  await tx
    .insertInto('sessions')
    .values({
      id,
      organization_id: organizationId,
      machine_id: machineId,
      type,
      opened_by_type: principal.type,
      opened_by_id: principal.id,
      opened_by_name: principal.name,
      guest_name: guest?.name ?? null,
      private: isPrivate,
    })
    .execute()
  await appendEvent(tx, machineId, { type: 'session.connected', sessionId: id })
}

export async function listSessions(
  db: Database,
  actor: Actor,
  filter: PageRequest & {
    readonly machine_id?: MachineId | undefined
    readonly state?: SessionState | undefined
  },
) {
  const rows = selectSessions(db, actor)
    .$if(filter.machine_id !== undefined, (query) =>
      query.where('machine_id', '=', filter.machine_id!),
    )
    .$if(filter.state !== undefined, (query) => query.where(state, '=', filter.state!))
  return newestFirst('ses', filter, rows)
}

export async function getSession(db: Database, actor: Actor, id: SessionId) {
  const session = await findSession(db, actor, id)
  if (!session) throw notFound(`session ${id}`)
  return session
}

/** Reads an open session of the machine that the caller opened itself. */
export async function getOwnSession(
  db: Database,
  actor: Actor,
  machineId: MachineId,
  id: SessionId,
): Promise<SessionWithState> {
  const session = await findSession(db, actor, id)
  if (!session || session.machine_id !== machineId) {
    throw notFound(`session ${id} on machine ${machineId}`)
  }
  requireOpener(actor, session)
  if (session.state === 'closed') {
    throw new ApiError('precondition_failed', `session ${id} is closed; open another`)
  }
  return session
}

/** Records that a session made a call. */
export async function touchSession(db: Database, id: SessionId): Promise<void> {
  await db
    .updateTable('sessions')
    .set({ last_active_at: sql`now()` })
    .where('id', '=', id)
    .execute()
}

/** The session of a guest is its own, and not that of whoever it was opened by. */
export function requireOpener(actor: Actor, session: SessionRow): void {
  const { id, opened_by_id: openerId, guest_name: guestName } = session
  const isOfGuest = guestName !== null
  if (openerId === actor.principal.id && isOfGuest === (actor.guest !== undefined)) return
  const opener = isOfGuest ? 'is that of a guest' : 'was opened by another caller'
  throw new ApiError('permission_denied', `session ${id} ${opener}`)
}

async function findSession(db: Database, actor: Actor, id: SessionId) {
  return selectSessions(db, actor).where('id', '=', id).executeTakeFirst()
}

function selectSessions(db: Database, actor: Actor) {
  return db
    .selectFrom('sessions')
    .selectAll()
    .select([state.as('state'), closedAt.as('closed_at')])
    .where('organization_id', '=', actor.organizationId)
}

export async function requireRoomForSession(tx: Tx, actor: Actor): Promise<void> {
  await lockOrganization(tx, actor)
  const open = await countOpenSessions(tx, actor)
  requireRoom(await getEntitlements(tx, actor.organizationId), 'concurrent_sessions', open)
}

export async function countOpenSessions(
  db: Database,
  { organizationId }: Pick<Actor, 'organizationId'>,
): Promise<number> {
  const { open } = await db
    .selectFrom('sessions')
    .select((eb) => eb.fn.countAll<number>().as('open'))
    .where('organization_id', '=', organizationId)
    .where(state, '!=', 'closed')
    .executeTakeFirstOrThrow()
  return open
}
