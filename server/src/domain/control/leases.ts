import type { MachineId, SessionId } from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { Database, MachineRow } from '../../db/database.ts'
import { ApiError, conflict } from '../../errors.ts'
import { callGuest, guestRef } from '../guests/calls.ts'
import { getMachine, getRunningMachine } from '../find-machine.ts'
import { clearHolder, grantLease, lockLease, removeHolder } from './grants.ts'
import { conflictOver } from './lease-conflicts.ts'
import { readLease, type InputMachine, type Lease } from './lease-row.ts'
import { getOwnSession, touchSession } from './sessions.ts'

/*
 * The input lease decides who may send input to a machine's desktop.
 *
 * One row per machine has the fence, the holder and the expiry of its grant, by the database's clock.
 * Every grant and every release raises the fence under the row's lock. The fence is then pushed to the
 * agent inside the machine, which refuses all lower ones, and only then does the call return: once a
 * takeover has returned, no input of the earlier holder can reach the display, whatever is still on
 * its way. If the push fails, the caller gets the error and retries; the row's fence has risen, which
 * affects only the holder that lost the lease.
 *
 * The row also has the fence with which the current holding began. The agent accepts every fence from
 * there on, so a renewal makes no input of its holder stale.
 */

type LeaseApp = Pick<App, 'db' | 'guests' | 'changes' | 'log'>

export async function acquireLease(
  app: LeaseApp,
  actor: Actor,
  machineId: MachineId,
  input: { readonly session_id: SessionId; readonly ttl_seconds: number; readonly force: boolean },
): Promise<Lease> {
  const machine = await getRunningMachine(app.db, actor, machineId)
  const sessionId = input.session_id
  await app.db.transaction().execute(async (tx) => {
    const before = await lockLease(tx, machineId)
    // Each way to close a session locks the lease first, so this one stays open until the commit.
    const session = await getOwnSession(tx, actor, machineId, sessionId)
    if (session.type === 'view') {
      throw new ApiError('permission_denied', 'a view session can never hold the input lease')
    }
    const held = before.holder?.sessionId
    if (held && held !== sessionId && !input.force) throw conflictOver(before, actor)
    await grantLease(tx, before, {
      machineId,
      sessionId,
      by: { organizationId: actor.organizationId, ...actor.principal },
      ttlSeconds: input.ttl_seconds,
    })
    await touchSession(tx, sessionId)
  })
  app.changes.publish(machineId)
  const lease = await callGuest(() => pushFence(app, machine))
  if (lease.holder?.sessionId === sessionId) return lease
  // The lease was taken over or released before the agent had this grant, which was never usable.
  throw lease.holder
    ? conflictOver(lease, actor)
    : conflict('the lease was released as it was granted')
}

/** Reads the current lease. An expired grant has no holder. */
export async function getLease(db: Database, actor: Actor, machineId: MachineId): Promise<Lease> {
  await getMachine(db, actor, machineId)
  return readLease(db, machineId)
}

/** Releases the lease, which only the holder's session may do. */
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
    throw lease.holder ? conflictOver(lease, actor) : conflict('nobody holds the input lease')
  }
  app.changes.publish(machineId)
  await pushReleasedFence(app, machineId)
  return readLease(app.db, machineId)
}

/**
 * Records the expiry of grants, and makes the agents release keys that the former holders still press.
 * Readers see an expired grant as having no holder even before that.
 */
export async function expireLeases(app: LeaseApp): Promise<void> {
  const expired = await app.db
    .selectFrom('input_leases')
    .select(['machine_id', 'fence'])
    .where('session_id', 'is not', null)
    .where('expires_at', '<', sql<Date>`clock_timestamp()`)
    .limit(100)
    .execute()
  // Concurrently, because an agent may be silent on purpose.
  await Promise.all(expired.map(({ machine_id: id, fence }) => expireLease(app, id, fence)))
}

/** Does nothing if the grant was renewed since it was read. */
async function expireLease(app: LeaseApp, machineId: MachineId, fence: number): Promise<void> {
  const isExpired = await app.db.transaction().execute(async (tx) => {
    const lost = await tx
      .selectFrom('input_leases')
      .select('session_id')
      .where('machine_id', '=', machineId)
      .where('fence', '=', fence)
      .where('session_id', 'is not', null)
      .where('expires_at', '<', sql<Date>`clock_timestamp()`)
      .forUpdate()
      .executeTakeFirst()
    if (lost) await removeHolder(tx, machineId, lost.session_id!, 'the lease expired')
    return lost !== undefined
  })
  if (!isExpired) return
  app.changes.publish(machineId)
  await pushReleasedFence(app, machineId)
}

/**
 * Pushes the fence to the agent after a release. If the machine does not run or its agent does not
 * answer, the fence is pushed before the next input instead.
 */
export async function pushReleasedFence(
  app: Pick<App, 'db' | 'guests' | 'log'>,
  machineId: MachineId,
): Promise<void> {
  const machine = await app.db
    .selectFrom('machines')
    .selectAll()
    .where('id', '=', machineId)
    .where('state', '=', 'running')
    .executeTakeFirst()
  if (machine) await tryPushFence(app, machine)
}

/** Pushes the row's current fence to the agent, and returns the lease. */
export async function pushFence(
  app: Pick<App, 'db' | 'guests'>,
  machine: InputMachine,
): Promise<Lease> {
  const lease = await readLease(app.db, machine.id)
  await app.guests.setFence(guestRef(machine), {
    fence: lease.fence,
    since: lease.since,
    // Agents of earlier builds refuse fields that they do not know.
    ...(lease.privateTo && { private_to: lease.privateTo }),
  })
  return lease
}

async function tryPushFence(
  app: Pick<App, 'db' | 'guests' | 'log'>,
  machine: MachineRow,
): Promise<void> {
  try {
    // The second try opens a new channel if the first found its channel broken.
    await pushFence(app, machine).catch(() => pushFence(app, machine))
  } catch (error) {
    app.log.warn(
      { err: error, machine_id: machine.id },
      'could not push a fence to the agent; it will be pushed before the next input',
    )
  }
}
