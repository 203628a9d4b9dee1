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
import { repeatPass } from './passes.ts'
import { cancelOrphaned, rereadSubscriptions, workOnEvents } from './payments.ts'
import { logFailure } from './queue.ts'
import { deliverWebhooks } from './webhooks.ts'
import type { WorkerApp } from './worker-app.ts'

const sweepRowsEveryMs = 60_000
const tendEveryMs = 2_000

/** Does the duties (domain/hosts/duties.ts) whenever this host has them, until the signal is aborted. */
export async function runDuties(app: WorkerApp, signal: AbortSignal): Promise<void> {
  const holds = () => logFailure(app, () => holdDuties(app))
  app.metrics.worker.setDuties(false)
  while (!signal.aborted) {
    if (await holds()) {
      app.metrics.worker.setDuties(true)
      const losing = new AbortController()
      const working = work(app, AbortSignal.any([signal, losing.signal]))
      // While the database does not answer, nobody else can take them.
      while (!signal.aborted && (await holds()) !== false)
        await pause(app.timing.renewClaimsMs, signal)
      losing.abort()
      app.metrics.worker.setDuties(false)
      await working
    }
    await pause(app.timing.renewClaimsMs, signal)
  }
  await logFailure(app, () => releaseDuties(app))
}

/** Resolves some time after the signal, when nothing is in flight. */
async function work(app: WorkerApp, signal: AbortSignal): Promise<void> {
  const { sweepMs } = app.timing
  const every = (ms: number, name: string, pass: () => Promise<void>) =>
    repeatPass(app, name, ms, pass)
  const closeRevoked = coalesce(() => logFailure(app, () => closeRevokedSessions(app)))
  const unsubscribe = app.changes.subscribe(closeRevoked, 'principals')
  const timers = [
    every(sweepMs, 'expire_leases', () => expireLeases(app)),
    every(sweepMs, 'forget_unseen_sockets', () => forgetUnseenSockets(app)),
    every(sweepMs, 'tend_help', () => tendHelp(app)),
    every(sweepRowsEveryMs, 'close_abandoned_sessions', () => closeAbandonedSessions(app)),
    every(sweepRowsEveryMs, 'close_revoked_sessions', async () => closeRevoked()),
    every(sweepRowsEveryMs, 'forget_old_keys', () => forgetOldKeys(app.db)),
    every(sweepRowsEveryMs, 'forget_gateway_tokens', () => forgetGatewayTokens(app.db)),
    every(sweepRowsEveryMs, 'delete_expired_preview_credentials', () =>
      deleteExpiredPreviewCredentials(app.db),
    ),
    every(sweepRowsEveryMs, 'compact_egress', () => compactEgress(app.db)),
    every(sweepRowsEveryMs, 'sweep_accounts', () => sweepAccounts(app.db)),
    every(sweepRowsEveryMs, 'sweep_activity', () => sweepActivity(app.db)),
    every(sweepRowsEveryMs, 'sweep_webhooks', () => sweepWebhooks(app.db)),
    every(sweepRowsEveryMs, 'sweep_help', () => sweepHelp(app.db)),
    every(tendEveryMs, 'roll_periods', () => rollPeriods(app.db)),
    every(tendEveryMs, 'relabel_machines', () => relabelMachines(app)),
    every(sweepRowsEveryMs, 'close_periods', () => closePeriods(app.db)),
    every(tendEveryMs, 'advance_standings', () => advanceStandings(app)),
    every(tendEveryMs, 'stop_used_up', () => stopUsedUp(app)),
    every(sweepRowsEveryMs, 'reread_subscriptions', () => rereadSubscriptions(app)),
    every(sweepRowsEveryMs, 'cancel_orphaned', () => cancelOrphaned(app)),
    every(sweepRowsEveryMs, 'forget_old_events', () => forgetOldEvents(app.db)),
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
