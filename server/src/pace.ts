import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Keeps what a burst of hints asks for from being done once for each of them. Await it before the
 * work: the first turn is at once, and each begins `everyMs` or more after the one before it.
 */
export function pace(everyMs: number): () => Promise<void> {
  let next = -Infinity
  return async () => {
    const waitMs = next - performance.now()
    if (waitMs > 0) await sleep(waitMs)
    next = performance.now() + everyMs
  }
}
