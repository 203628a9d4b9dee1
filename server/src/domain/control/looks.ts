import type { MachineId, SessionId } from '@computer/contract'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import { ApiError } from '../../errors.ts'
import type { CallOptions } from '../../guest/call.ts'
import type { GuestRef } from '../../guest/channels.ts'
import type { GuestClient } from '../../guest/client.ts'
import { GuestRefusal } from '../../guest/errors.ts'
import { asApiError, askGuest, callGuest, guestRef } from '../guests/calls.ts'
import { privateScreen } from './lease-conflicts.ts'
import { readInputTarget, type Lease } from './lease-row.ts'
import { pushFence } from './leases.ts'

/*
 * Reads of a desktop. Those that show the screen or the clipboard are looks: while the screen is private they fail
 * with a conflict, unless the caller's own session holds the lease. The row is asked first. The agent decides,
 * because the screen may become private while a look is on its way.
 */

type Guests = Pick<App, 'db' | 'guests'>

/** The display once the desktop answers; until then compute_unavailable. */
export async function getDisplay(app: Guests, actor: Actor, id: MachineId) {
  const display = await askGuest(app, actor, id, (ref) => app.guests.display(ref))
  if (display.up) return display
  throw new ApiError('compute_unavailable', 'the desktop is not up yet; try again shortly', {
    retryAfter: 1,
  })
}

export function takeScreenshot(
  app: Guests,
  actor: Actor,
  id: MachineId,
  query: Parameters<GuestClient['screenshot']>[1],
  options: CallOptions,
) {
  return look(app, actor, id, (ref, viewer) =>
    app.guests.screenshot(ref, { ...query, ...viewer }, options),
  )
}

/** The caller reads the stream to its end or destroys it. */
export function openScreenshot(
  app: Guests,
  actor: Actor,
  id: MachineId,
  query: Parameters<GuestClient['openScreenshot']>[1],
  options: CallOptions,
) {
  return look(app, actor, id, (ref, viewer) =>
    app.guests.openScreenshot(ref, { ...query, ...viewer }, options),
  )
}

export function waitForScreen(
  app: Guests,
  actor: Actor,
  id: MachineId,
  query: Parameters<GuestClient['waitForScreen']>[1],
  options: CallOptions,
) {
  return look(app, actor, id, (ref, viewer) =>
    app.guests.waitForScreen(ref, { ...query, ...viewer }, options),
  )
}

export function readClipboard(
  app: Guests,
  actor: Actor,
  id: MachineId,
  query: Parameters<GuestClient['readClipboard']>[1],
) {
  return look(app, actor, id, (ref, viewer) =>
    app.guests.readClipboard(ref, { ...query, ...viewer }),
  )
}

/** Throws unless the client with this session, or with none, may see the screen. */
export function requireSight(lease: Lease, actor: Actor, sessionId: SessionId | null): void {
  if (!maySee(lease, sessionId)) throw privateScreen(lease, actor)
}

export function maySee({ privateTo }: Lease, sessionId: SessionId | null): boolean {
  return privateTo === null || privateTo === sessionId
}

/** A look without a `viewer` is one for nobody in particular. Agents of earlier builds know none. */
type Viewer = { readonly viewer?: SessionId }

async function look<T>(
  app: Guests,
  actor: Actor,
  id: MachineId,
  ask: (ref: GuestRef, viewer: Viewer) => Promise<T>,
): Promise<T> {
  for (let isRepeated = false; ; isRepeated = true) {
    const { machine, lease } = await readInputTarget(app.db, actor, id)
    requireSight(lease, actor, ownSession(lease, actor))
    const viewer = lease.privateTo ? { viewer: lease.privateTo } : {}
    try {
      return await ask(guestRef(machine), viewer)
    } catch (error) {
      const isPrivate = error instanceof GuestRefusal && error.reason === 'screen_private'
      if (!isPrivate || isRepeated) throw asApiError(error)
      // The agent has not been notified that it is over, or it has just begun, and the row says to whom.
      await callGuest(() => pushFence(app, machine))
    }
  }
}

/** The session of the holder if it is the caller's. That of a guest is nobody's own, its opener included. */
function ownSession({ holder }: Lease, { principal }: Actor): SessionId | null {
  if (!holder || holder.guestName !== null || holder.openedBy.id !== principal.id) return null
  return holder.sessionId
}
