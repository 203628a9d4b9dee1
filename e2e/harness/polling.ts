import { setTimeout as delay } from 'node:timers/promises'

export type Polling = { readonly everyMs?: number; readonly withinMs?: number }

/** Polls until the result is neither undefined nor false. A timeout names the condition. */
export async function eventually<T>(
  condition: string,
  poll: () => Promise<T | false | undefined>,
  { everyMs = 100, withinMs = 60_000 }: Polling = {},
): Promise<T> {
  const deadline = performance.now() + withinMs
  for (;;) {
    const result = await poll()
    if (result !== undefined && result !== false) return result
    if (performance.now() > deadline) throw new Error(`not within ${withinMs} ms: ${condition}`)
    await delay(everyMs)
  }
}
