import { restingStates, type MachineId } from '@computer/contract'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { MachineRow } from '../../db/database.ts'
import { getMachine } from '../find-machine.ts'
import { guestRef } from '../guests/calls.ts'

/**
 * Waits until the machine rests or the time is over, and answers it as it is then. A guest that boots
 * meanwhile is rung up already: who waits for a machine is about to talk to it.
 */
export async function waitForRest(
  app: Pick<App, 'db' | 'changes' | 'guests'>,
  actor: Actor,
  id: MachineId,
  timeoutMs: number,
): Promise<MachineRow> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const changed = nextChange(app, id)
    try {
      const machine = await getMachine(app.db, actor, id)
      const leftMs = deadline - performance.now()
      if (isAtRest(machine) || leftMs <= 0) return machine
      if (machine.wanted === 'running') ringUp(app, machine)
      await changed.within(Math.min(leftMs, 500))
    } finally {
      changed.forget()
    }
  }
}

function isAtRest({ state, restore_capture_id: restore }: MachineRow): boolean {
  return restingStates.includes(state) && restore === null
}

/** Opens the channel if the engine has started the machine; a failure is nobody's business yet. */
function ringUp(app: Pick<App, 'guests'>, machine: MachineRow): void {
  app.guests.health(guestRef(machine)).catch(() => {})
}

function nextChange(app: Pick<App, 'changes'>, id: MachineId) {
  const { promise, resolve } = Promise.withResolvers<void>()
  const forget = app.changes.subscribe((changed) => {
    if (changed === id) resolve()
  })
  return {
    forget,
    async within(ms: number) {
      const timer = setTimeout(resolve, ms)
      await promise
      clearTimeout(timer)
    },
  }
}
