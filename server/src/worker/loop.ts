import { measureEveryMs, recordPool } from '../domain/disks/pool.ts'
import { sweepAccounts } from '../domain/accounts/sweep.ts'
import { compactEgress } from '../domain/previews/egress.ts'
import { forgetGatewayTokens } from '../domain/accounts/gateway-tokens.ts'
import { forgetPreviewCredentials } from '../domain/previews/credentials.ts'
import { forgetOldKeys } from '../domain/idempotency.ts'
import { expireLeases } from '../domain/control/leases.ts'
import { closeAbandonedSessions } from '../domain/control/session-closing.ts'
import { forgetUnseenSockets } from '../domain/control/session-sockets.ts'
import { removalQueue } from './captures.ts'
import { placeNewEvents } from './event-outbox.ts'
import { pause } from '../pace.ts'
import { prepareImages } from './images.ts'
import { deliverMails } from './mails.ts'
import type { WorkerApp } from './app.ts'
import { machineQueue } from './machines.ts'
import { greetDelivered, observeAll, observeMachine } from './observe.ts'
import { runQueue, safely } from './queue.ts'
import { secretQueue } from './secrets.ts'

const watchAgainMs = 1_000
const observeEveryMs = 60_000
const sweepEveryMs = 2_000
const tendEveryMs = 2_000
const graceMs = 5_000

/**
 * Runs every reconciler until the signal is aborted, and resolves when nothing is in flight or a
 * short grace is over.
 */
export async function runWorker(app: WorkerApp, signal: AbortSignal): Promise<void> {
  const every = (ms: number, pass: () => Promise<void>) =>
    setInterval(() => void safely(app, pass), ms)
  const measure = async () => recordPool(app, await app.driver.measurePool())
  const timers = [
    every(observeEveryMs, () => observeAll(app)),
    every(measureEveryMs, measure),
    every(tendEveryMs, () => app.driver.adjustDiskLimits()),
    every(sweepEveryMs, () => expireLeases(app)),
    every(sweepEveryMs, () => forgetUnseenSockets(app)),
    every(observeEveryMs, () => closeAbandonedSessions(app)),
    every(observeEveryMs, () => forgetOldKeys(app.db)),
    every(observeEveryMs, () => forgetGatewayTokens(app.db)),
    every(observeEveryMs, () => forgetPreviewCredentials(app.db)),
    every(observeEveryMs, () => compactEgress(app.db)),
    every(observeEveryMs, () => sweepAccounts(app.db)),
  ]
  const others = [
    prepareImages(app, signal),
    deliverMails(app, signal),
    placeNewEvents(app, signal),
    watchEngine(app, signal),
  ]
  void safely(app, measure)
  await safely(app, () => observeAll(app))
  void safely(app, () => greetDelivered(app))

  const queues = [
    runQueue(app, machineQueue(app), signal),
    runQueue(app, removalQueue(app), signal),
    runQueue(app, secretQueue(app), signal),
  ]
  await new Promise((resolve) => {
    if (signal.aborted) resolve(undefined)
    else signal.addEventListener('abort', resolve, { once: true })
  })
  for (const timer of timers) clearInterval(timer)
  const finished = Promise.all([...queues, ...others])
  // A step that takes longer is left in its middle: whoever claims it next does it again.
  await Promise.race([finished, new Promise((resolve) => setTimeout(resolve, graceMs).unref())])
}

async function watchEngine(app: WorkerApp, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await safely(app, async () => {
      for await (const ref of app.driver.watch(signal)) {
        void safely(app, () => (ref === 'all' ? observeAll(app) : observeMachine(app, ref)))
      }
    })
    await pause(watchAgainMs, signal)
  }
}
