import type { MachineId } from '@computer/contract'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import { ApiError } from '../../errors.ts'
import type { CallOptions } from '../../guest/call.ts'
import type { GuestClient } from '../../guest/client.ts'
import { askGuest } from './calls.ts'

/* Reads of a desktop. Input to it goes through the lease (control/input.ts). */

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
  return askGuest(app, actor, id, (ref) => app.guests.screenshot(ref, query, options))
}

/** The caller reads the stream to its end or destroys it. */
export function openScreenshot(
  app: Guests,
  actor: Actor,
  id: MachineId,
  query: Parameters<GuestClient['openScreenshot']>[1],
  options: CallOptions,
) {
  return askGuest(app, actor, id, (ref) => app.guests.openScreenshot(ref, query, options))
}

export function waitForScreen(
  app: Guests,
  actor: Actor,
  id: MachineId,
  query: Parameters<GuestClient['waitForScreen']>[1],
  options: CallOptions,
) {
  return askGuest(app, actor, id, (ref) => app.guests.waitForScreen(ref, query, options))
}

export function readClipboard(
  app: Guests,
  actor: Actor,
  id: MachineId,
  query: Parameters<GuestClient['readClipboard']>[1],
) {
  return askGuest(app, actor, id, (ref) => app.guests.readClipboard(ref, query))
}
