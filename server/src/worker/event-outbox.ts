import type { App } from '../app.ts'
import { placeEvents } from '../domain/events/outbox.ts'
import { pace, pause } from '../pace.ts'

/** Without a hint, new events are looked for that often. */
const pollMs = 100
/** What is committed meanwhile is placed together. */
const placeEveryMs = 10
const retryMs = 1_000

/** Places events soon after their commit, for as long as the signal lets it. */
export async function placeNewEvents(
  app: Pick<App, 'db' | 'changes' | 'log'>,
  signal: AbortSignal,
): Promise<void> {
  let wake = Promise.withResolvers<void>()
  const unsubscribe = app.changes.subscribe(() => wake.resolve())
  const turn = pace(placeEveryMs)
  try {
    while (!signal.aborted) {
      await turn()
      wake = Promise.withResolvers()
      const more = await placeEvents(app).catch(async (error: unknown) => {
        app.log.warn({ err: error }, 'events were not placed; the next pass tries again')
        await pause(retryMs, signal)
        return true
      })
      if (!more) await Promise.race([wake.promise, pause(pollMs, signal)])
    }
  } finally {
    unsubscribe()
  }
}
