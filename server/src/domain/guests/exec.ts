import type { MachineId } from '@computer/contract'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { CallOptions } from '../../guest/call.ts'
import type { GuestClient } from '../../guest/client.ts'
import { askGuest } from './calls.ts'

type Guests = Pick<App, 'db' | 'guests'>

export function runCommand(
  app: Guests,
  actor: Actor,
  id: MachineId,
  command: Parameters<GuestClient['exec']>[1],
  options: CallOptions,
) {
  return askGuest(app, actor, id, (ref) => app.guests.exec(ref, command, options))
}

/** The resources that a running machine uses, as its agent measures them. */
export function readUsage(app: Guests, actor: Actor, id: MachineId) {
  return askGuest(app, actor, id, (ref) => app.guests.usage(ref))
}
