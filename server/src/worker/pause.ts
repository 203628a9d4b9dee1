import { setTimeout as sleep } from 'node:timers/promises'

/** Sleeps, but not past the abortion of the signal. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {})
}
