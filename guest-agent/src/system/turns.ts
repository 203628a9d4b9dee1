import { setImmediate as nextTurn } from 'node:timers/promises'

const maxBusyMs = 5

/** For long work in small steps: awaited between them, it lets other calls be served after 5 ms. */
export function createTurns(): () => Promise<void> | undefined {
  let began = performance.now()
  return () => {
    if (performance.now() - began < maxBusyMs) return undefined
    return nextTurn().then(() => {
      began = performance.now()
    })
  }
}
