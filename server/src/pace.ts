import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Throttles repeated work. Await the returned function before each run: the first call resolves at
 * once, and each later one at least `everyMs` after the one before.
 */
export function throttle(everyMs: number): () => Promise<void> {
  let next = -Infinity
  return async () => {
    const waitMs = next - performance.now()
    if (waitMs > 0) await sleep(waitMs)
    next = performance.now() + everyMs
  }
}

/**
 * Runs the work on each call, one run at a time; calls during a run are coalesced into one more run
 * after it. The work must not throw.
 */
export function coalesce(work: () => Promise<void>): () => void {
  let isRunning = false
  let isCalledAgain = false

  async function run(): Promise<void> {
    isRunning = true
    try {
      do {
        isCalledAgain = false
        await work()
      } while (isCalledAgain)
    } finally {
      isRunning = false
    }
  }

  return () => {
    if (isRunning) isCalledAgain = true
    else void run()
  }
}

/** Resolves as the work does, or to undefined once the time is over. The work goes on. */
export async function waitAtMost<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => resolve(undefined), ms).unref()
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Sleeps until the time is over or the signal is aborted. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {})
}
