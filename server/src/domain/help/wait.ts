import type { HelpRequestId } from '@computer/contract'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { HelpRow } from '../../db/database.ts'
import { nextChange } from '../next-change.ts'
import { getHelp, isWaiting } from './requests.ts'

/** Bounds the delay when a notification is lost. */
const pollMs = 1_000

/** Reads a request as soon as its state is another than now, at once if it has ended, or when the time is over. */
export async function waitForHelp(
  app: Pick<App, 'db' | 'changes'>,
  actor: Actor,
  id: HelpRequestId,
  waitSeconds: number,
  signal: AbortSignal,
): Promise<HelpRow> {
  const deadline = performance.now() + waitSeconds * 1000
  const first = await getHelp(app.db, actor, id)
  for (let help = first; ;) {
    const leftMs = deadline - performance.now()
    if (!isWaiting(help) || help.state !== first.state || leftMs <= 0) return help
    signal.throwIfAborted()
    const changed = nextChange(app, help.machine_id)
    try {
      // Read after the subscription, so that no change falls in between.
      help = await getHelp(app.db, actor, id)
      if (help.state === first.state) await changed.within(Math.min(leftMs, pollMs))
    } finally {
      changed.unsubscribe()
    }
  }
}
