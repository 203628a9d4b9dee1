import { helpLeaseSeconds, type HelpRequestId } from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { HelpRow, Tx } from '../../db/database.ts'
import { conflict } from '../../errors.ts'
import { newId } from '../../ids.ts'
import { grantLease, lockLease } from '../control/grants.ts'
import { conflictOver } from '../control/lease-conflicts.ts'
import type { Lease } from '../control/lease-row.ts'
import { acquireLease, pushFence } from '../control/leases.ts'
import { getSession, insertSession, requireRoomForSession } from '../control/sessions.ts'
import type { SessionWithState } from '../control/sessions.ts'
import { getRunningMachine } from '../find-machine.ts'
import { callGuest } from '../guests/calls.ts'
import { lookBefore, storeBefore, type Before } from './brief.ts'
import { noteHelp } from './notices.ts'
import { describeTaker, hasTaken, personOf } from './people.ts'
import { getHelp, isWaiting, lockHelp, publishHelp } from './requests.ts'

export type Taken = {
  readonly help: HelpRow
  readonly session: SessionWithState
  readonly lease: Lease
}

/**
 * Gives the machine to a person: a session of theirs gets the lease by force, in the transaction that makes the request
 * active. Once it has answered, nothing of the former holder lands, and nobody else sees a private screen. Whoever has
 * it already gets their session and the lease again, as after an answer that was lost.
 */
export async function takeHelp(
  app: Pick<App, 'db' | 'guests' | 'changes' | 'log'>,
  actor: Actor,
  id: HelpRequestId,
): Promise<Taken> {
  const found = await getHelp(app.db, actor, id)
  if (isWaiting(found)) requireUntaken(actor, found)
  const machine = await getRunningMachine(app.db, actor, found.machine_id)
  const before = found.before === null ? await lookBefore(app, machine) : null
  const help = await app.db.transaction().execute(async (tx) => take(tx, actor, id, before))
  publishHelp(app, help)
  const lease = await callGuest(() => pushFence(app, machine))
  // The lease was taken over, or the session closed, before the agent had this grant, which was never usable.
  if (lease.holder?.sessionId !== help.session_id) throw conflictOver(lease, actor)
  return { help, session: await getSession(app.db, actor, help.session_id!), lease }
}

/** Renews the lease of whoever has the request. */
export async function renewHelp(
  app: Pick<App, 'db' | 'guests' | 'changes' | 'log'>,
  actor: Actor,
  id: HelpRequestId,
): Promise<{ readonly help: HelpRow; readonly lease: Lease }> {
  const help = await getHelp(app.db, actor, id)
  if (!hasTaken(actor, help)) throw conflict(`help request ${id} is not taken by you any more`)
  const lease = await acquireLease(app, actor, help.machine_id, {
    session_id: help.session_id!,
    ttl_seconds: helpLeaseSeconds,
    force: false,
  })
  return { help, lease }
}

async function take(
  tx: Tx,
  actor: Actor,
  id: HelpRequestId,
  before: Before | null,
): Promise<HelpRow> {
  const help = await lockHelp(tx, actor, id)
  requireUntaken(actor, help)
  const { machine_id: machineId } = help
  await requireNoOther(tx, help)
  const isAgain = hasTaken(actor, help) && (await isOpen(tx, help))
  const sessionId = isAgain ? help.session_id! : newId('ses')
  if (!isAgain) await requireRoomForSession(tx, actor)
  const lease = await lockLease(tx, machineId)
  if (!isAgain)
    await insertSession(tx, actor, sessionId, { machineId, type: 'human', isPrivate: help.private })
  await grantLease(tx, lease, {
    machineId,
    sessionId,
    by: { organizationId: actor.organizationId, ...personOf(actor) },
    ttlSeconds: helpLeaseSeconds,
  })
  if (isAgain) return help
  if (before) await storeBefore(tx, help, before)
  const { type, id: personId, name } = personOf(actor)
  const taken = await tx
    .updateTable('help_requests')
    .set({
      state: 'active',
      taken_by_type: type,
      taken_by_id: personId,
      taken_by_name: name,
      taken_at: sql`clock_timestamp()`,
      session_id: sessionId,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
  await noteHelp(tx, taken, 'help.taken', personOf(actor))
  return taken
}

/** Somebody who has taken the request keeps it until they answer, leave it or are gone. */
export function requireUntaken(actor: Actor, help: HelpRow): void {
  if (help.state !== 'active' || hasTaken(actor, help)) return
  throw conflict(`help request ${help.id} was taken by the ${describeTaker(help)}`)
}

/** One person at a time has a machine, whichever of its requests they took. */
async function requireNoOther(tx: Tx, { id, machine_id: machineId }: HelpRow): Promise<void> {
  const other = await tx
    .selectFrom('help_requests')
    .selectAll()
    .where('machine_id', '=', machineId)
    .where('state', '=', 'active')
    .where('id', '!=', id)
    .executeTakeFirst()
  if (!other) return
  throw conflict(`the ${describeTaker(other)} has this machine for help request ${other.id}`)
}

async function isOpen(tx: Tx, { session_id: id }: HelpRow): Promise<boolean> {
  const session = await tx
    .selectFrom('sessions')
    .select('closed_at')
    .where('id', '=', id!)
    .executeTakeFirst()
  return session?.closed_at === null
}
