import { rollPeriods } from '../domain/accounts/periods.ts'
import { sweepActivity } from '../domain/activity/activity.ts'
import { sweepAccounts } from '../domain/accounts/sweep.ts'
import { closePeriods } from '../domain/billing/closing.ts'
import { relabelMachines } from '../domain/billing/labels.ts'
import { advanceStandings } from '../domain/billing/standings.ts'
import { sweepWebhooks } from '../domain/webhooks/messages.ts'
import { sweepHelp, tendHelp } from '../domain/help/tending.ts'
import { holdDuties, releaseDuties } from '../domain/hosts/duties.ts'
import { stopUsedUp } from '../domain/machines/used-up.ts'
import { forgetOldEvents } from '../domain/billing/provider-events.ts'
import { compactEgress } from '../domain/previews/egress.ts'
import { forgetGatewayTokens } from '../domain/accounts/gateway-tokens.ts'
import { deleteExpiredPreviewCredentials } from '../domain/previews/credentials.ts'
import { forgetOldKeys } from '../domain/idempotency.ts'
import { expireLeases } from '../domain/control/leases.ts'
import { closeAbandonedSessions, closeRevokedSessions } from '../domain/control/session-closing.ts'
import { forgetUnseenSockets } from '../domain/control/session-sockets.ts'
import { coalesce, pause } from '../pace.ts'
import { watchBudgets } from './budgets.ts'
import { chargePeriods } from './charges.ts'
import { watchHosts } from './host-health.ts'
import { deliverMails } from './mails.ts'
import { placeNew } from './outbox.ts'
import { cancelOrphaned, rereadSubscriptions, workOnEvents } from './payments.ts'
import { logFailure } from './queue.ts'
import { deliverWebhooks } from './webhooks.ts'
import type { WorkerApp } from './worker-app.ts'

const sweepRowsEveryMs = 60_000
const tendEveryMs = 2_000

/** Does the duties (domain/hosts/duties.ts) whenever this host has them, until the signal is aborted. */
export async function runDuties(app: WorkerApp, signal: AbortSignal): Promise<void> {
  const holds = () => logFailure(app, () => holdDuties(app))
  while (!signal.aborted) {
    if (await holds()) {
      const losing = new AbortController()
      const working = work(app, AbortSignal.any([signal, losing.signal]))
      // While the database does not answer, nobody else can take them.
      while (!signal.aborted && (await holds()) !== false)
        await pause(app.timing.renewClaimsMs, signal)
      losing.abort()
      await working
    }
    await pause(app.timing.renewClaimsMs, signal)
  }
  await logFailure(app, () => releaseDuties(app))
}

/** Resolves some time after the signal, when nothing is in flight. */
async function work(app: WorkerApp, signal: AbortSignal): Promise<void> {
  const { sweepMs } = app.timing
  const every = (ms: number, pass: () => Promise<void>) =>
    setInterval(() => void logFailure(app, pass), ms)
  const closeRevoked = coalesce(() => logFailure(app, () => closeRevokedSessions(app)))
  const unsubscribe = app.changes.subscribe(closeRevoked, 'principals')
  const timers = [
    every(sweepMs, () => expireLeases(app)),
    every(sweepMs, () => forgetUnseenSockets(app)),
    every(sweepMs, () => tendHelp(app)),
    every(sweepRowsEveryMs, () => closeAbandonedSessions(app)),
    every(sweepRowsEveryMs, async () => closeRevoked()),
    every(sweepRowsEveryMs, () => forgetOldKeys(app.db)),
    every(sweepRowsEveryMs, () => forgetGatewayTokens(app.db)),
    every(sweepRowsEveryMs, () => deleteExpiredPreviewCredentials(app.db)),
    every(sweepRowsEveryMs, () => compactEgress(app.db)),
    every(sweepRowsEveryMs, () => sweepAccounts(app.db)),
    every(sweepRowsEveryMs, () => sweepActivity(app.db)),
    every(sweepRowsEveryMs, () => sweepWebhooks(app.db)),
    every(sweepRowsEveryMs, () => sweepHelp(app.db)),
    every(tendEveryMs, () => rollPeriods(app.db)),
    every(tendEveryMs, () => relabelMachines(app)),
    every(sweepRowsEveryMs, () => closePeriods(app.db)),
    every(tendEveryMs, () => advanceStandings(app)),
    every(tendEveryMs, () => stopUsedUp(app)),
    every(sweepRowsEveryMs, () => rereadSubscriptions(app)),
    every(sweepRowsEveryMs, () => cancelOrphaned(app)),
    every(sweepRowsEveryMs, () => forgetOldEvents(app.db)),
  ]
  await Promise.all([
    deliverMails(app, signal),
    workOnEvents(app, signal),
    chargePeriods(app, signal),
    placeNew(app, signal),
    deliverWebhooks(app, signal),
    watchBudgets(app, signal),
    watchHosts(app, signal),
  ])
  for (const timer of timers) clearInterval(timer)
  unsubscribe()
}
