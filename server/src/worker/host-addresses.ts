import { listOtherAddresses } from '../domain/hosts/hosts.ts'
import { pause } from '../pace.ts'
import { logFailure } from './queue.ts'
import type { WorkerApp } from './worker-app.ts'

/** Keeps the machines of this host from reaching the other hosts, until the signal is aborted. */
export async function closeOtherHosts(app: WorkerApp, signal: AbortSignal): Promise<void> {
  let closed: string | undefined
  while (!signal.aborted) {
    await logFailure(app, async () => {
      const addresses = await listOtherAddresses(app)
      if (addresses.join() === closed) return
      await app.driver.closeAddresses(addresses)
      closed = addresses.join()
    })
    await pause(app.timing.hostSeenMs, signal)
  }
}
