import type { App } from '../app.ts'
import type { Topic } from '../db/changes.ts'
import { placeActivity } from '../domain/activity/outbox.ts'
import { placeEvents } from '../domain/events/outbox.ts'
import { pause, throttle } from '../pace.ts'

const pollMs = 100
/** Rows that are committed within this time are placed together. */
const placeEveryMs = 10
const retryMs = 1_000

type Placing = Pick<App, 'db' | 'changes' | 'log'>

/** Gives new events and new activity their positions soon after their commit, until the signal is aborted. */
export async function placeNew(app: Placing, signal: AbortSignal): Promise<void> {
  await Promise.all([
    keepPlacing(app, 'machines', () => placeEvents(app), signal),
    keepPlacing(app, 'unplaced', () => placeActivity(app), signal),
  ])
}

/** `place` resolves to whether there may be more. `topic` tells of new rows, which are looked for in any case. */
async function keepPlacing(
  app: Placing,
  topic: Topic,
  place: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<void> {
  let woken = Promise.withResolvers<void>()
  const unsubscribe = app.changes.subscribe(() => woken.resolve(), topic)
  const turn = throttle(placeEveryMs)
  try {
    while (!signal.aborted) {
      await turn()
      woken = Promise.withResolvers()
      const more = await place().catch(async (error: unknown) => {
        app.log.warn({ err: error }, 'could not place new rows; will retry')
        await pause(retryMs, signal)
        return true
      })
      if (!more) await Promise.race([woken.promise, pause(pollMs, signal)])
    }
  } finally {
    unsubscribe()
  }
}
