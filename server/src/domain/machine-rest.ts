import { restingStates, type MachineId } from '@computer/contract'
import type { Actor } from '../actor.ts'
import type { App } from '../app.ts'
import type { MachineRow } from '../db/database.ts'
import { getMachine } from './find-machine.ts'

/** Waits until the machine rests or the time is over, and answers it as it is then. */
export async function waitForRest(
  app: Pick<App, 'db' | 'changes'>,
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
      if (restingStates.includes(machine.state) || leftMs <= 0) return machine
      await changed.within(Math.min(leftMs, 500))
    } finally {
      changed.forget()
    }
  }
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
