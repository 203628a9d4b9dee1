import { measureEveryMs, recordPool } from '../domain/disks/pool.ts'
import { rollPeriods } from '../domain/accounts/periods.ts'
import { sweepActivity } from '../domain/activity/activity.ts'
import { sweepAccounts } from '../domain/accounts/sweep.ts'
import { closePeriods } from '../domain/billing/closing.ts'
import { relabelMachines } from '../domain/billing/labels.ts'
import { advanceStandings } from '../domain/billing/standings.ts'
import { sweepWebhooks } from '../domain/webhooks/messages.ts'
import { sweepHelp, tendHelp } from '../domain/help/tending.ts'
import { stopUsedUp } from '../domain/machines/used-up.ts'
import { forgetOldEvents } from '../domain/billing/provider-events.ts'
import { compactEgress } from '../domain/previews/egress.ts'
import { forgetGatewayTokens } from '../domain/accounts/gateway-tokens.ts'
import { deleteExpiredPreviewCredentials } from '../domain/previews/credentials.ts'
import { forgetOldKeys } from '../domain/idempotency.ts'
import { expireLeases } from '../domain/control/leases.ts'
import { closeAbandonedSessions, closeRevokedSessions } from '../domain/control/session-closing.ts'
import { forgetUnseenSockets } from '../domain/control/session-sockets.ts'
import { removalQueue } from './captures.ts'
import { chargePeriods } from './charges.ts'
import { coalesce, pause } from '../pace.ts'
import { watchBudgets } from './budgets.ts'
import { watchHost } from './host-health.ts'
import { prepareImages } from './images.ts'
import { deliverMails } from './mails.ts'
import { machineQueue } from './machines.ts'
import { placeNew } from './outbox.ts'
import { cancelOrphaned, rereadSubscriptions, workOnEvents } from './payments.ts'
import { redeliverSecrets, reconcileAll, reconcileMachine } from './reconcile.ts'
import { logFailure, runQueue } from './queue.ts'
import { secretQueue } from './secrets.ts'
import { keepWarm } from './warm/pool.ts'
import { warmQueue } from './warm/queue.ts'
import { deliverWebhooks } from './webhooks.ts'
import type { WorkerApp } from './worker-app.ts'

const watchAgainMs = 1_000
const reconcileEveryMs = 60_000
const tendEveryMs = 2_000
const graceMs = 5_000

/**
 * Runs every reconciler until the signal is aborted, and resolves when no work is in flight or a short
 * grace period is over. `onReconciled` is called once all rows have been compared with the engine.
 */
export async function runWorker(
  app: WorkerApp,
  signal: AbortSignal,
  onReconciled?: () => Promise<void>,
): Promise<void> {
  const { sweepMs } = app.timing
  const every = (ms: number, pass: () => Promise<void>) =>
    setInterval(() => void logFailure(app, pass), ms)
  const measure = () => recordPool(app, app.driver)
  const closeRevoked = coalesce(() => logFailure(app, () => closeRevokedSessions(app)))
  const unsubscribe = app.changes.subscribe(closeRevoked, 'principals')
  const timers = [
    every(reconcileEveryMs, () => reconcileAll(app)),
    every(measureEveryMs, measure),
    every(tendEveryMs, () => app.driver.adjustDiskLimits()),
    every(sweepMs, () => expireLeases(app)),
    every(sweepMs, () => forgetUnseenSockets(app)),
    every(sweepMs, () => tendHelp(app)),
    every(reconcileEveryMs, () => closeAbandonedSessions(app)),
    every(reconcileEveryMs, async () => closeRevoked()),
    every(reconcileEveryMs, () => forgetOldKeys(app.db)),
    every(reconcileEveryMs, () => forgetGatewayTokens(app.db)),
    every(reconcileEveryMs, () => deleteExpiredPreviewCredentials(app.db)),
    every(reconcileEveryMs, () => compactEgress(app.db)),
    every(reconcileEveryMs, () => sweepAccounts(app.db)),
    every(reconcileEveryMs, () => sweepActivity(app.db)),
    every(reconcileEveryMs, () => sweepWebhooks(app.db)),
    every(reconcileEveryMs, () => sweepHelp(app.db)),
    every(tendEveryMs, () => rollPeriods(app.db)),
    every(tendEveryMs, () => relabelMachines(app)),
    every(reconcileEveryMs, () => closePeriods(app.db)),
    every(tendEveryMs, () => advanceStandings(app)),
    every(tendEveryMs, () => stopUsedUp(app)),
    every(reconcileEveryMs, () => rereadSubscriptions(app)),
    every(reconcileEveryMs, () => cancelOrphaned(app)),
    every(reconcileEveryMs, () => forgetOldEvents(app.db)),
  ]
  const others = [
    prepareImages(app, signal),
    deliverMails(app, signal),
    workOnEvents(app, signal),
    chargePeriods(app, signal),
    placeNew(app, signal),
    deliverWebhooks(app, signal),
    watchBudgets(app, signal),
    watchEngine(app, signal),
    watchHost(app, signal),
    keepWarm(app, signal),
  ]
  void logFailure(app, measure)
  await logFailure(app, () => reconcileAll(app))
  if (onReconciled) await logFailure(app, onReconciled)
  void logFailure(app, () => redeliverSecrets(app))

  const queues = [
    runQueue(app, machineQueue(app), signal),
    runQueue(app, removalQueue(app), signal),
    runQueue(app, secretQueue(app), signal),
    runQueue(app, warmQueue(app), signal),
  ]
  await new Promise((resolve) => {
    if (signal.aborted) resolve(undefined)
    else signal.addEventListener('abort', resolve, { once: true })
  })
  for (const timer of timers) clearInterval(timer)
  unsubscribe()
  const finished = Promise.all([...queues, ...others])
  // A longer step is abandoned halfway; the worker that claims the row next repeats it.
  await Promise.race([finished, new Promise((resolve) => setTimeout(resolve, graceMs).unref())])
}

async function watchEngine(app: WorkerApp, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await logFailure(app, async () => {
      for await (const ref of app.driver.watch(signal)) {
        void logFailure(app, () => (ref === 'all' ? reconcileAll(app) : reconcileMachine(app, ref)))
      }
    })
    await pause(watchAgainMs, signal)
  }
}
