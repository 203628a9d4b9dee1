import { hostSilent, recordHealthy, recordUnhealthy } from '../domain/hosts/health.ts'
import { listSilentHosts } from '../domain/hosts/hosts.ts'
import { createElsewhere, endSilentRuns } from '../domain/machines/host-loss.ts'
import { pause } from '../pace.ts'
import { logFailure } from './queue.ts'
import { reconcileAll } from './reconcile.ts'
import type { WorkerApp } from './worker-app.ts'

/** Checks the engine of this host until the signal is aborted. A short failure, such as a restart, is no event. */
export async function watchEngineHealth(app: WorkerApp, signal: AbortSignal): Promise<void> {
  const { hostPollMs, hostPatienceMs } = app.timing
  let failingSinceMs: number | null = null
  while (!signal.aborted) {
    if (await answers(app, signal)) {
      failingSinceMs = null
      // Another worker may have missed this one's signs of life, and have ended what runs here.
      await logFailure(app, async () => {
        if (await recordHealthy(app, app.config.host)) await reconcileAll(app)
      })
    } else if (!signal.aborted) {
      failingSinceMs ??= performance.now()
      if (performance.now() - failingSinceMs >= hostPatienceMs) {
        const { host } = app.config
        await logFailure(app, async () => {
          await recordUnhealthy(app, host, 'the engine of the host does not answer')
          await createElsewhere(app, host)
        })
      }
    }
    await pause(hostPollMs, signal)
  }
}

/** Checks the workers of all hosts until the signal is aborted. A worker that is back records its host as healthy. */
export async function watchHosts(app: WorkerApp, signal: AbortSignal): Promise<void> {
  const { hostPollMs, hostSilenceMs } = app.timing
  while (!signal.aborted) {
    await logFailure(app, async () => {
      for (const host of await listSilentHosts(app.db, hostSilenceMs)) {
        await recordUnhealthy(app, host, hostSilent)
        await endSilentRuns(app, host)
      }
    })
    await pause(hostPollMs, signal)
  }
}

/** An engine that hangs counts as one that fails. */
async function answers({ driver, timing }: WorkerApp, signal: AbortSignal): Promise<boolean> {
  const pinged = driver.ping().then(
    () => true,
    () => false,
  )
  const late = pause(timing.hostPatienceMs, signal).then(() => false)
  return Promise.race([pinged, late])
}
