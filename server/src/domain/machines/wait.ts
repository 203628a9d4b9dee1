import { restingStates, type MachineId } from '@computer/contract'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { MachineRow } from '../../db/database.ts'
import { getMachine } from '../find-machine.ts'
import { nextChange } from '../next-change.ts'
import { guestRef } from '../guests/calls.ts'
import { span } from '../../trace/span.ts'

/** Bounds the delay when a notification is lost. */
const pollMs = 500

/**
 * Waits until the machine is at rest or the time is over, and returns its row. Opens the guest channel
 * while the machine boots, because the caller is about to use it.
 */
export async function waitForRest(
  app: Pick<App, 'db' | 'changes' | 'guests'>,
  actor: Actor,
  id: MachineId,
  timeoutMs: number,
): Promise<MachineRow> {
  const deadline = performance.now() + timeoutMs
  let machine: MachineRow | undefined
  const endWarmUps = app.changes.subscribe((booting) => {
    if (booting === id && machine) warmUpChannel(app, machine)
  }, 'boots')
  try {
    for (;;) {
      const changed = nextChange(app, id)
      try {
        machine = await getMachine(app.db, actor, id)
        const leftMs = deadline - performance.now()
        if (isAtRest(machine) || leftMs <= 0) return machine
        if (machine.is_frozen) warmUpChannel(app, machine)
        await span('wait for a change', { id }, () => changed.within(Math.min(leftMs, pollMs)))
      } finally {
        changed.unsubscribe()
      }
    }
  } finally {
    endWarmUps()
  }
}

function isAtRest({ state, restore_capture_id: restore }: MachineRow): boolean {
  return restingStates.includes(state) && restore === null
}

/** Opens the channel; a failure does not matter yet. */
function warmUpChannel(app: Pick<App, 'guests'>, machine: MachineRow): void {
  app.guests.channels.open(guestRef(machine)).catch(() => {})
}
