import type { HelpPerson, MachineId, OrganizationId, SessionId } from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { Tx } from '../../db/database.ts'
import { notFound } from '../../errors.ts'
import { activityRow, insertActivity } from '../activity/activity.ts'
import { appendEvent } from '../events/events.ts'
import { conflictOver } from './lease-conflicts.ts'
import { readLease, type Lease } from './lease-row.ts'

/*
 * Changes of the row of an input lease (leases.ts). Each locks the row, and is followed, after the commit, by a
 * notification and a push of the fence to the agent.
 */

/** The row of a machine that is being created. */
export async function insertLease(tx: Tx, machineId: MachineId): Promise<void> {
  await tx
    .insertInto('input_leases')
    .values({ machine_id: machineId, fence: 0 } as never)
    .execute()
}

/** Reads the row and locks it until the end of the transaction. It goes with its machine. */
export async function lockLease(tx: Tx, machineId: MachineId): Promise<Lease> {
  const lease = await findLease(tx, machineId)
  if (!lease) throw notFound(`machine ${machineId}`)
  return lease
}

async function findLease(tx: Tx, machineId: MachineId): Promise<Lease | null> {
  const row = await tx
    .selectFrom('input_leases')
    .select('fence')
    .where('machine_id', '=', machineId)
    .forUpdate()
    .executeTakeFirst()
  return row ? readLease(tx, machineId) : null
}

/** Grants a lease, as it was locked, to a session, whoever holds it. A grant to its holder is a renewal. */
export async function grantLease(
  tx: Tx,
  { holder }: Lease,
  grant: {
    readonly machineId: MachineId
    readonly sessionId: SessionId
    readonly by: HelpPerson & { readonly organizationId: OrganizationId }
    readonly ttlSeconds: number
  },
): Promise<void> {
  const { machineId, sessionId, by, ttlSeconds } = grant
  const held = holder?.sessionId
  const isRenewal = held === sessionId
  await tx
    .updateTable('input_leases')
    .set({
      fence: sql`fence + 1`,
      session_id: sessionId,
      expires_at: sql`clock_timestamp() + make_interval(secs => ${ttlSeconds})`,
      ...(!isRenewal && {
        since_fence: sql`fence + 1`,
        acquired_at: sql`clock_timestamp()`,
      }),
    })
    .where('machine_id', '=', machineId)
    .execute()
  if (isRenewal) return
  if (held) {
    await appendEvent(tx, machineId, {
      type: 'session.control_released',
      sessionId: held,
      message: `taken over by session ${sessionId}`,
    })
    const { organizationId, ...actor } = by
    const taken = activityRow({
      organizationId,
      machineId,
      type: 'control.taken',
      actor,
      sessionId,
      data: { from_session_id: held },
    })
    await insertActivity(tx, [taken])
  }
  await appendEvent(tx, machineId, { type: 'session.control_acquired', sessionId })
}

/**
 * Releases the lease if the session holds it. After the commit the caller must publish the change and
 * push the fence.
 */
export async function clearHolder(
  tx: Tx,
  machineId: MachineId,
  sessionId: SessionId,
  message?: string,
) {
  const lease = await findLease(tx, machineId)
  if (lease?.holder?.sessionId !== sessionId) return null
  await removeHolder(tx, machineId, sessionId, message)
  return lease
}

/** Throws if the lease has a holder. It is locked until the end of the transaction. */
export async function requireNoHolder(tx: Tx, actor: Actor, machineId: MachineId): Promise<void> {
  const lease = await lockLease(tx, machineId)
  if (lease.holder) throw conflictOver(lease, actor)
}

/** Removes the holder and raises the fence, so that no input of the last holder is accepted. */
export async function removeHolder(
  tx: Tx,
  machineId: MachineId,
  sessionId: SessionId,
  message?: string,
): Promise<void> {
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
