import type { GuestInput, MachineId, SessionId } from '@computer/contract'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import { conflict } from '../../errors.ts'
import { GuestRefusal } from '../../guest/errors.ts'
import { asApiError, callGuest, guestRef } from '../guests/calls.ts'
import { conflictOver, staleFence } from './lease-conflicts.ts'
import { readInputTarget, type Lease } from './lease-row.ts'
import { pushFence } from './leases.ts'
import { getOwnSession, touchSession } from './sessions.ts'

/** The grant that the caller claims: its session, and the fence it believes to hold. */
export type Grant = {
  readonly sessionId?: SessionId | undefined
  readonly fence?: number | undefined
}

/** A try either succeeds or learns a newer fence; renewals by the same session may race with it. */
const maxTries = 4

/**
 * Sends input to the desktop under the caller's grant. The row names the holder, but the agent decides,
 * because a takeover may complete while the input is on its way (see leases.ts).
 */
export async function sendInput(
  app: Pick<App, 'db' | 'guests'>,
  actor: Actor,
  id: MachineId,
  grant: Grant,
  input: Omit<GuestInput, 'fence'>,
  signal: AbortSignal,
) {
  let first: Lease | null = null
  for (let attempt = 1; ; attempt++) {
    const { machine, lease } = await readInputTarget(app.db, actor, id)
    await requireGrant(app, actor, id, lease, grant)
    const { fence, holder } = lease
    first ??= lease
    // The first try may have had a partial effect, so whether to repeat it is up to the caller.
    if (holder?.sessionId !== first.holder?.sessionId) throw conflictOver(lease, actor)
    if (lease.acquiredAt?.getTime() !== first.acquiredAt?.getTime()) {
      throw conflict('the input lease changed hands while this was under way')
    }
    try {
      const result = await app.guests.input(guestRef(machine), { fence, ...input }, { signal })
      if (holder?.isQuiet) await touchSession(app.db, holder.sessionId)
      return result
    } catch (error) {
      const reason = error instanceof GuestRefusal ? error.reason : undefined
      const stale = reason === 'fence_stale' || reason === 'fence_unknown'
      if (!stale || attempt === maxTries) throw asApiError(error)
      // The agent has just started and knows no fence, or it has a newer one than the row we read.
      if (reason === 'fence_unknown') await callGuest(() => pushFence(app, machine))
    }
  }
}

/** Throws unless the caller may use the lease. */
async function requireGrant(
  app: Pick<App, 'db'>,
  actor: Actor,
  id: MachineId,
  lease: Lease,
  grant: Grant,
): Promise<void> {
  const { holder, fence, since } = lease
  const isMine =
    holder?.openedBy.id === actor.principal.id &&
    holder.guestName === null &&
    (grant.sessionId === undefined || holder.sessionId === grant.sessionId)
  if (!isMine) {
    // A session that is missing, closed or of somebody else is the better explanation.
    if (grant.sessionId) await getOwnSession(app.db, actor, id, grant.sessionId)
    throw conflictOver(lease, actor)
  }
  // A renewal of the holder leaves its earlier fences valid, as it does on the gateway.
  const isOfHolding = grant.fence === undefined || (since <= grant.fence && grant.fence <= fence)
  if (!isOfHolding) throw staleFence(lease, actor, grant.fence)
}
