import type { Actor } from '../../actor.ts'
import { conflict, type ApiError } from '../../errors.ts'
import type { Lease } from './lease-row.ts'

/** The conflict of a caller who does not hold the lease. It names the holder, if there is one. */
export function conflictOver(lease: Lease, actor: Actor): ApiError {
  return conflict(
    lease.holder
      ? `the input lease is held by ${describeHolder(lease, actor)}`
      : 'nobody holds the input lease of this machine; acquire it first',
  )
}

/** The conflict of a fence that belongs to no grant of the current holding. */
export function staleFence(lease: Lease, actor: Actor, fence: number): ApiError {
  const valid = lease.since === lease.fence ? lease.fence : `${lease.since} to ${lease.fence}`
  const holder = describeHolder(lease, actor)
  return conflict(
    `fence ${fence} is stale: the input lease is held with fence ${valid} by ${holder}`,
  )
}

/** The conflict of a caller who may not look now. */
export function privateScreen(lease: Lease, actor: Actor): ApiError {
  const holder = describeHolder(lease, actor)
  return conflict(`the screen is private to ${holder}; try again when they have handed it back`)
}

function describeHolder({ holder, expiresAt }: Lease, { principal }: Actor): string {
  const { sessionId, type, openedBy, guestName } = holder!
  const until = `until ${expiresAt!.toISOString()}`
  if (guestName !== null) {
    return `session ${sessionId} of the guest "${guestName}", who helps, ${until}`
  }
  const kind = openedBy.type === 'user' ? 'user' : 'API key'
  const own = openedBy.type === 'user' ? ' (you)' : ' (your own key)'
  const opener = `${kind} "${openedBy.name}"${openedBy.id === principal.id ? own : ''}`
  return `${type} session ${sessionId}, opened by ${opener}, ${until}`
}
