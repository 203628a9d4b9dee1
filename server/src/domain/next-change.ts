import type { MachineId } from '@computer/contract'
import type { App } from '../app.ts'

/** Waits for the next notification about a machine, which may be lost: the caller polls as well. */
export function nextChange(app: Pick<App, 'changes'>, id: MachineId) {
  const { promise, resolve } = Promise.withResolvers<void>()
  const unsubscribe = app.changes.subscribe((changed) => {
    if (changed === id) resolve()
  })
  return {
    unsubscribe,
    async within(ms: number) {
      const timer = setTimeout(resolve, ms)
      await promise
      clearTimeout(timer)
    },
  }
}
