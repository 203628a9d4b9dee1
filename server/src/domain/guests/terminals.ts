import type { MachineId, OpenTerminal, Terminal, TerminalId } from '@computer/contract'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import { pageOfItems, type PageRequest } from '../page.ts'
import { askGuest } from './calls.ts'

/*
 * Terminals exist only in the agent of their machine: a row would know no more than the agent does, and
 * both end when the machine stops.
 */

type Guests = Pick<App, 'db' | 'guests'>

/** A repeated call with the same id returns the terminal that the first one opened. */
export function openTerminal(
  app: Guests,
  actor: Actor,
  machineId: MachineId,
  id: TerminalId,
  input: OpenTerminal,
): Promise<Terminal> {
  return askGuest(app, actor, machineId, (ref) => app.guests.openTerminal(ref, { ...input, id }))
}

export async function listTerminals(
  app: Guests,
  actor: Actor,
  machineId: MachineId,
  page: PageRequest,
) {
  const all = await askGuest(app, actor, machineId, (ref) => app.guests.listTerminals(ref))
  return pageOfItems('trm', page, all)
}

export function resizeTerminal(
  app: Guests,
  actor: Actor,
  machineId: MachineId,
  size: { readonly id: TerminalId; readonly cols: number; readonly rows: number },
): Promise<Terminal> {
  return askGuest(app, actor, machineId, (ref) => app.guests.resizeTerminal(ref, size))
}

/** Resolves when all of the terminal's programs have ended. */
export function killTerminal(
  app: Guests,
  actor: Actor,
  machineId: MachineId,
  id: TerminalId,
): Promise<void> {
  return askGuest(app, actor, machineId, (ref) => app.guests.killTerminal(ref, id))
}
