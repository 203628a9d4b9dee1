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

/**
 * Does the work whenever it is asked for, once at a time: what is asked for meanwhile is done once more
 * after it. What the work throws is its own to catch.
 */
export function coalesce(work: () => Promise<void>): () => void {
  let isWorking = false
  let isAskedAgain = false

  async function run(): Promise<void> {
    isWorking = true
    try {
      do {
        isAskedAgain = false
        await work()
      } while (isAskedAgain)
    } finally {
      isWorking = false
    }
  }

  return () => {
    if (isWorking) isAskedAgain = true
    else void run()
  }
}

/** Sleeps, but not past the abortion of the signal. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {})
}
