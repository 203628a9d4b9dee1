import { recordHealthy, recordUnhealthy } from '../domain/machines/host-health.ts'
import { pause } from '../pace.ts'
import { logFailure } from './queue.ts'
import type { WorkerApp } from './worker-app.ts'

/** Checks the engine until the signal is aborted. A short failure, such as a restart, is no event. */
export async function watchHost(app: WorkerApp, signal: AbortSignal): Promise<void> {
  const { hostPollMs, hostPatienceMs } = app.timing
  let failingSinceMs: number | null = null
  // An earlier worker may have left the host unhealthy.
  let isHealthy = false
  while (!signal.aborted) {
    if (await answers(app, signal)) {
      failingSinceMs = null
      const record = async () => {
        await recordHealthy(app)
        isHealthy = true
      }
      if (!isHealthy) await logFailure(app, record)
    } else if (!signal.aborted) {
      failingSinceMs ??= performance.now()
      isHealthy = false
      if (performance.now() - failingSinceMs >= hostPatienceMs) {
        await logFailure(app, () => recordUnhealthy(app, 'the engine of the host does not answer'))
      }
    }
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
