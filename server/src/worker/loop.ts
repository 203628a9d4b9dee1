import { readBootId } from '../boot-id.ts'
import { measureEveryMs, recordCapacity } from '../domain/hosts/capacity.ts'
import { recordHost, recordSeen } from '../domain/hosts/hosts.ts'
import { endRuns } from '../domain/machines/host-loss.ts'
import { pause, waitAtMost } from '../pace.ts'
import type { PeerListener } from '../peers/listener.ts'
import { removalQueue } from './captures.ts'
import { copyQueue } from './copies.ts'
import { runDuties } from './duties.ts'
import { closeOtherHosts } from './host-addresses.ts'
import { watchEngineHealth } from './host-health.ts'
import { prepareImages } from './images.ts'
import { machineQueue } from './machines.ts'
import { repeatPass, runPass } from './passes.ts'
import { startPeerListener } from './peers.ts'
import { redeliverSecrets, reconcileAll, reconcileMachine } from './reconcile.ts'
import { logFailure, runQueue } from './queue.ts'
import { relocateMachines } from './relocations.ts'
import { secretQueue } from './secrets.ts'
import { keepWarm } from './warm/pool.ts'
import { warmQueue } from './warm/queue.ts'
import type { WorkerApp } from './worker-app.ts'

const watchAgainMs = 1_000
const reconcileEveryMs = 60_000
const adjustEveryMs = 2_000
const graceMs = 5_000

/**
 * Runs every reconciler of this host until the signal is aborted, and the duties of all hosts while it has them.
 * Resolves when no work is in flight or a short grace period is over. `onReconciled` is called once all rows of the
 * host have been compared with its engine.
 */
export async function runWorker(
  app: WorkerApp,
  signal: AbortSignal,
  onReconciled?: () => Promise<void>,
): Promise<void> {
  const every = (ms: number, name: string, pass: () => Promise<void>) =>
    repeatPass(app, name, ms, pass)
  const measure = () => recordCapacity(app)
  await using peers = await startPeerListener(app)
  // All other rows of the host refer to this one.
  await recordUntilDone(app, peers, signal)
  const timers = [
    every(reconcileEveryMs, 'reconcile', () => reconcileAll(app)),
    every(measureEveryMs, 'measure_host', measure),
    every(app.timing.hostSeenMs, 'record_seen', () => recordSeen(app)),
    every(adjustEveryMs, 'adjust_disk_limits', () => app.driver.adjustDiskLimits()),
  ]
  const others = [
    closeOtherHosts(app, signal),
    runDuties(app, signal),
    prepareImages(app, signal),
    watchEngine(app, signal),
    watchEngineHealth(app, signal),
    keepWarm(app, signal),
    relocateMachines(app, signal),
  ]
  void runPass(app, 'measure_host', measure)
  await runPass(app, 'reconcile', () => reconcileAll(app))
  if (onReconciled) await logFailure(app, onReconciled)
  void runPass(app, 'redeliver_secrets', () => redeliverSecrets(app))

  const queues = [
    runQueue(app, machineQueue(app), signal),
    runQueue(app, removalQueue(app), signal),
    runQueue(app, copyQueue(app), signal),
    runQueue(app, secretQueue(app), signal),
    runQueue(app, warmQueue(app), signal),
  ]
  await new Promise((resolve) => {
    if (signal.aborted) resolve(undefined)
    else signal.addEventListener('abort', resolve, { once: true })
  })
  for (const timer of timers) clearInterval(timer)
  const finished = Promise.all([...queues, ...others])
  // A longer step is abandoned halfway; the worker that claims the row next repeats it.
  await waitAtMost(graceMs, finished)
}

/** Writes the row of this host, however long the database takes to answer. */
async function recordUntilDone(
  app: WorkerApp,
  peers: PeerListener | null,
  signal: AbortSignal,
): Promise<void> {
  const record = async () => {
    const bootId = readBootId()
    await app.db.transaction().execute(async (tx) => {
      const isRestarted = await recordHost(tx, app.config, { bootId, peer: peers })
      if (isRestarted) await endRuns(tx, app.config.host, 'the host of the machine was restarted')
    })
    return true
  }
  while (!signal.aborted && !(await logFailure(app, record))) await pause(watchAgainMs, signal)
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
