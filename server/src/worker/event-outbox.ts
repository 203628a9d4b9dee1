import type { App } from '../app.ts'
import { placeEvents } from '../domain/events/outbox.ts'
import { pause, throttle } from '../pace.ts'

const pollMs = 100
/** Events that are committed within this time are placed together. */
const placeEveryMs = 10
const retryMs = 1_000

/** Gives new events their positions soon after their commit, until the signal is aborted. */
export async function placeNewEvents(
  app: Pick<App, 'db' | 'changes' | 'log'>,
  signal: AbortSignal,
): Promise<void> {
  let woken = Promise.withResolvers<void>()
  const unsubscribe = app.changes.subscribe(() => woken.resolve())
  const turn = throttle(placeEveryMs)
  try {
    while (!signal.aborted) {
      await turn()
      woken = Promise.withResolvers()
      const more = await placeEvents(app).catch(async (error: unknown) => {
        app.log.warn({ err: error }, 'could not place new events; will retry')
        await pause(retryMs, signal)
        return true
      })
      if (!more) await Promise.race([woken.promise, pause(pollMs, signal)])
    }
  } finally {
    unsubscribe()
  }
}
