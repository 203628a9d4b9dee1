import type { GuestAction, MachineId, SessionId } from '@computer/contract'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { MachineRow } from '../../db/database.ts'
import { conflict } from '../../errors.ts'
import { GuestRefusal } from '../../guest/errors.ts'
import { asApiError, callGuest, guestRef } from '../guests/calls.ts'
import { pushFence, heldBy, readLease, type Lease } from './leases.ts'
import { getRunningMachine } from '../find-machine.ts'
import { getOwnSession, touchSession } from './sessions.ts'

/** What the caller says about its grant: its session, and the fence it believes to hold. */
export type Grant = {
  readonly sessionId?: SessionId | undefined
  readonly fence?: number | undefined
}

/** Each try either lands or learns something newer; renewals by the same session may race us. */
const maxTries = 4

/**
 * Sends input to the desktop under the caller's grant. The row says whose turn it is; the agent has
 * the last word, because a takeover may be answered while this is on its way (see leases.ts).
 */
export async function sendInput(
  app: Pick<App, 'db' | 'guests'>,
  actor: Actor,
  id: MachineId,
  grant: Grant,
  action: GuestAction,
  signal: AbortSignal,
) {
  const machine = await getRunningMachine(app.db, actor, id)
  let first: Lease | null = null
  for (let attempt = 1; ; attempt++) {
    const lease = await requireGrant(app, actor, machine, grant)
    const { fence, holder } = lease
    first ??= lease
    // Part of it may have happened before: doing it again is the caller's to decide.
    if (holder?.sessionId !== first.holder?.sessionId) throw heldBy(lease)
    if (lease.acquiredAt?.getTime() !== first.acquiredAt?.getTime()) {
      throw conflict('the input lease changed hands while this was under way')
    }
    try {
      const result = await app.guests.input(guestRef(machine), { fence, action }, { signal })
      if (holder?.isQuiet) await touchSession(app.db, holder.sessionId)
      return result
    } catch (error) {
      const reason = error instanceof GuestRefusal ? error.reason : undefined
      const stale = reason === 'fence_stale' || reason === 'fence_unknown'
      if (!stale || attempt === maxTries) throw asApiError(error)
      // The agent has just started and knows no fence, or it knows a newer one than we read.
      if (reason === 'fence_unknown') await callGuest(() => pushFence(app, machine))
    }
  }
}

/** The lease, if it is the caller's to use. */
async function requireGrant(
  app: Pick<App, 'db'>,
  actor: Actor,
  machine: MachineRow,
  grant: Grant,
): Promise<Lease> {
  if (grant.sessionId) await getOwnSession(app.db, actor, machine.id, grant.sessionId)
  const lease = await readLease(app.db, machine.id)
  if (!lease.holder) {
    throw conflict('nobody holds the input lease of this machine; acquire it first')
  }
  const mine = grant.sessionId
    ? lease.holder.sessionId === grant.sessionId
    : lease.holder.openedBy.id === actor.principal.id
  if (!mine) throw heldBy(lease)
  if (grant.fence !== undefined && grant.fence !== lease.fence) {
    throw conflict(`fence ${grant.fence} is stale: the lease is now at ${lease.fence}`)
  }
  return lease
}
