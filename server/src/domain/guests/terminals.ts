import type { MachineId, OpenTerminal, Terminal, TerminalId } from '@computer/contract'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import { askGuest } from './calls.ts'

/*
 * Terminals live in the agent of their machine and nowhere else: no row could say more than the agent
 * does, and both end with the machine's run.
 */

type Guests = Pick<App, 'db' | 'guests'>

/** A call that is repeated with the same id answers the terminal that it opened the first time. */
export function openTerminal(
  app: Guests,
  actor: Actor,
  machineId: MachineId,
  id: TerminalId,
  wish: OpenTerminal,
): Promise<Terminal> {
  return askGuest(app, actor, machineId, (ref) => app.guests.openTerminal(ref, { ...wish, id }))
}

export function listTerminals(app: Guests, actor: Actor, machineId: MachineId) {
  return askGuest(app, actor, machineId, (ref) => app.guests.listTerminals(ref))
}

export function resizeTerminal(
  app: Guests,
  actor: Actor,
  machineId: MachineId,
  size: { readonly id: TerminalId; readonly cols: number; readonly rows: number },
): Promise<Terminal> {
  return askGuest(app, actor, machineId, (ref) => app.guests.resizeTerminal(ref, size))
}

/** Resolves when nothing of it runs any more. */
export function killTerminal(
  app: Guests,
  actor: Actor,
  machineId: MachineId,
  id: TerminalId,
): Promise<void> {
  return askGuest(app, actor, machineId, (ref) => app.guests.killTerminal(ref, id))
}
