import type { MachineId, SessionId } from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { Database, MachineRow, Tx } from '../../db/database.ts'
import { ApiError, conflict } from '../../errors.ts'
import { appendEvent } from '../events/events.ts'
import { callGuest, guestRef } from '../guests/calls.ts'
import { getMachine, getRunningMachine } from '../find-machine.ts'
import { getOwnSession, touchSession } from './sessions.ts'

/*
 * The input lease: who may send input to a machine's desktop.
 *
 * One row a machine holds the fence, the holder and when its grant ends, all by the database's
 * clock. Every grant and every release raises the fence under the row's lock. The fence is then
 * told to the agent inside the machine, which refuses every lower one, and only after that is
 * the grant answered: once a takeover has answered, nothing of the earlier holder can reach the
 * display, whatever is still on its way. If telling fails, the caller learns that and asks again;
 * the row's fence has risen meanwhile, which harms nobody but the holder that lost it.
 *
 * The row also says with which fence the present holding began. The agent is told that too, and
 * admits every fence from there on: a renewal makes nothing of its holder stale.
 */

export type Lease = {
  readonly fence: number
  /** The first fence of the present holding; of the release, where nobody holds it. */
  readonly since: number
  readonly holder: {
    readonly sessionId: SessionId
    readonly type: 'agent' | 'human' | 'view'
    readonly openedBy: { type: 'user' | 'api_key'; id: string; name: string }
    /** Its last call was noted more than ten seconds ago. */
    readonly isQuiet: boolean
  } | null
  readonly acquiredAt: Date | null
  readonly expiresAt: Date | null
  /** How long it lasts from when it was read, by the database's clock; 0 without a holder. */
  readonly remainingMs: number
}

type LeaseApp = Pick<App, 'db' | 'guests' | 'changes' | 'log'>

export async function acquireLease(
  app: LeaseApp,
  actor: Actor,
  machineId: MachineId,
  wish: { readonly session_id: SessionId; readonly ttl_seconds: number; readonly force: boolean },
): Promise<Lease> {
  const machine = await getRunningMachine(app.db, actor, machineId)
  const session = await getOwnSession(app.db, actor, machineId, wish.session_id)
  if (session.type === 'view') {
    throw new ApiError('permission_denied', 'a view session can never hold the input lease')
  }
  await app.db.transaction().execute(async (tx) => {
    const before = await lockLease(tx, machineId)
    const held = before.holder?.sessionId
    if (held && held !== session.id && !wish.force) throw heldBy(before)
    await tx
      .updateTable('input_leases')
      .set({
        fence: sql`fence + 1`,
        session_id: session.id,
        expires_at: sql`clock_timestamp() + make_interval(secs => ${wish.ttl_seconds})`,
        ...(held !== session.id && {
          since_fence: sql`fence + 1`,
          acquired_at: sql`clock_timestamp()`,
        }),
      })
      .where('machine_id', '=', machineId)
      .execute()
    if (held && held !== session.id) {
      await appendEvent(tx, machineId, {
        type: 'session.control_released',
        sessionId: held,
        message: `taken over by session ${session.id}`,
      })
    }
    if (held !== session.id) {
      await appendEvent(tx, machineId, { type: 'session.control_acquired', sessionId: session.id })
    }
    await touchSession(tx, session.id)
  })
  app.changes.publish(machineId)
  const lease = await callGuest(() => pushFence(app, machine))
  if (lease.holder?.sessionId === session.id) return lease
  // Taken over, or released, before the agent had heard of this grant: it was never usable.
  throw lease.holder ? heldBy(lease) : conflict('the lease was released as it was granted')
}

/** Who holds the lease now. A grant that has run out is no holder. */
export async function getLease(db: Database, actor: Actor, machineId: MachineId): Promise<Lease> {
  await getMachine(db, actor, machineId)
  return readLease(db, machineId)
}

/** Only the holder's session releases it. */
export async function releaseLease(
  app: LeaseApp,
  actor: Actor,
  machineId: MachineId,
  sessionId: SessionId,
): Promise<Lease> {
  await getMachine(app.db, actor, machineId)
  await getOwnSession(app.db, actor, machineId, sessionId)
  const released = await app.db
    .transaction()
    .execute(async (tx) => clearHolder(tx, machineId, sessionId))
  if (!released) {
    const lease = await readLease(app.db, machineId)
    throw lease.holder ? heldBy(lease) : conflict('nobody holds the input lease')
  }
  app.changes.publish(machineId)
  return tellFence(app, actor, machineId)
}

/**
 * Takes the lease from a session if it holds it. After the commit the caller says that it changed and
 * tells the agent.
 */
export async function clearHolder(tx: Tx, machineId: MachineId, sessionId: SessionId) {
  const lease = await lockLease(tx, machineId)
  if (lease.holder?.sessionId !== sessionId) return null
  await vacate(tx, machineId, sessionId)
  return lease
}

/** Refuses while anybody holds the lease. Nobody gets it before the end of the transaction. */
export async function requireNoHolder(tx: Tx, machineId: MachineId): Promise<void> {
  const lease = await lockLease(tx, machineId)
  if (lease.holder) throw heldBy(lease)
}

/**
 * Writes down that grants have run out and lets go of what the lost holders still hold pressed.
 * Whoever reads such a lease sees no holder before that.
 */
export async function expireLeases(app: LeaseApp): Promise<void> {
  const expired = await app.db
    .selectFrom('input_leases')
    .select(['machine_id', 'fence'])
    .where('session_id', 'is not', null)
    .where('expires_at', '<', sql<Date>`clock_timestamp()`)
    .limit(100)
    .execute()
  for (const { machine_id: id, fence } of expired) await expireLease(app, id, fence)
}

/** Unless it was renewed since it was read. */
async function expireLease(app: LeaseApp, machineId: MachineId, fence: number): Promise<void> {
  const machine = await app.db.transaction().execute(async (tx) => {
    const lost = await tx
      .selectFrom('input_leases')
      .select('session_id')
      .where('machine_id', '=', machineId)
      .where('fence', '=', fence)
      .where('session_id', 'is not', null)
      .where('expires_at', '<', sql<Date>`clock_timestamp()`)
      .forUpdate()
      .executeTakeFirst()
    if (!lost) return undefined
    await vacate(tx, machineId, lost.session_id!, 'the lease ran out')
    return tx
      .selectFrom('machines')
      .selectAll()
      .where('id', '=', machineId)
      .where('state', '=', 'running')
      .executeTakeFirst()
  })
  app.changes.publish(machineId)
  if (machine) await tellRunning(app, machine)
}

/**
 * Tells the agent what the row says after a release. A machine that is not running, or whose agent
 * does not answer, is told before its next input instead.
 */
export async function tellFence(
  app: Pick<App, 'db' | 'guests' | 'log'>,
  actor: Actor,
  machineId: MachineId,
): Promise<Lease> {
  const machine = await getMachine(app.db, actor, machineId)
  if (machine.state === 'running') await tellRunning(app, machine)
  return readLease(app.db, machineId)
}

/** Tells the agent the fence of the row as it is now, and answers the row. */
export async function pushFence(
  app: Pick<App, 'db' | 'guests'>,
  machine: MachineRow,
): Promise<Lease> {
  const lease = await readLease(app.db, machine.id)
  await app.guests.setFence(guestRef(machine), {
    fence: lease.fence,
    since: lease.since,
  })
  return lease
}

export async function readLease(db: Database, machineId: MachineId): Promise<Lease> {
  const row = await db
    .selectFrom('input_leases as l')
    .leftJoin('sessions as s', (join) =>
      join.onRef('s.id', '=', 'l.session_id').on(sql<boolean>`l.expires_at > clock_timestamp()`),
    )
    .select(['l.fence', 'l.since_fence', 'l.acquired_at', 'l.expires_at'])
    .select(
      sql<number>`extract(epoch from l.expires_at - clock_timestamp()) * 1000`.as('remaining_ms'),
    )
    .select(['s.id', 's.type', 's.opened_by_type', 's.opened_by_id', 's.opened_by_name'])
    .select(sql<boolean>`s.last_active_at < now() - interval '10 seconds'`.as('is_quiet'))
    .where('l.machine_id', '=', machineId)
    .executeTakeFirst()
  const [fence, since] = [row?.fence ?? 0, row?.since_fence ?? 0]
  if (!row?.id) {
    return { fence, since, holder: null, acquiredAt: null, expiresAt: null, remainingMs: 0 }
  }
  return {
    fence,
    since,
    holder: {
      sessionId: row.id,
      type: row.type!,
      openedBy: { type: row.opened_by_type!, id: row.opened_by_id!, name: row.opened_by_name! },
      isQuiet: row.is_quiet,
    },
    acquiredAt: row.acquired_at,
    expiresAt: row.expires_at,
    remainingMs: Number(row.remaining_ms),
  }
}

/** The conflict that names the holder. */
export function heldBy(lease: Lease): ApiError {
  const { sessionId, type, openedBy } = lease.holder!
  const opener = `${openedBy.type === 'user' ? 'user' : 'API key'} "${openedBy.name}"`
  return conflict(
    `the input lease is held by ${type} session ${sessionId}, opened by ${opener}, until ${lease.expiresAt?.toISOString()}`,
  )
}

/** Nobody holds it any more; the fence rises so that nothing of the last holder lands either. */
async function vacate(tx: Tx, machineId: MachineId, sessionId: SessionId, message?: string) {
  await tx
    .updateTable('input_leases')
    .set({
      fence: sql`fence + 1`,
      since_fence: sql`fence + 1`,
      session_id: null,
      acquired_at: null,
      expires_at: null,
    })
    .where('machine_id', '=', machineId)
    .execute()
  await appendEvent(tx, machineId, {
    type: 'session.control_released',
    sessionId,
    ...(message !== undefined && { message }),
  })
}

async function tellRunning(
  app: Pick<App, 'db' | 'guests' | 'log'>,
  machine: MachineRow,
): Promise<void> {
  try {
    // A way to the agent that has just broken off is no reason to leave it untold.
    await pushFence(app, machine).catch(() => pushFence(app, machine))
  } catch (error) {
    app.log.warn({ err: error, machine_id: machine.id }, 'a release was not told to the agent yet')
  }
}

/** The row, made if need be and locked until the end of the transaction. */
async function lockLease(tx: Tx, machineId: MachineId): Promise<Lease> {
  await tx
    .insertInto('input_leases')
    .values({ machine_id: machineId, fence: 0 } as never)
    .onConflict((existing) => existing.column('machine_id').doNothing())
    .execute()
  await tx
    .selectFrom('input_leases')
    .select('fence')
    .where('machine_id', '=', machineId)
    .forUpdate()
    .execute()
  return readLease(tx, machineId)
}
