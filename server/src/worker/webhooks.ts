import type { OrganizationId } from '@computer/contract'
import type { App } from '../app.ts'
import { fanOut } from '../domain/webhooks/fan-out.ts'
import { pause } from '../pace.ts'
import { logFailure } from './queue.ts'
import { sendDeliveries } from './webhook-sender.ts'

type Delivering = Pick<App, 'config' | 'timing' | 'db' | 'changes' | 'log' | 'metrics'>

/** Makes the deliveries of new events and activity, and sends what is due, until the signal is aborted. */
export async function deliverWebhooks(app: Delivering, signal: AbortSignal): Promise<void> {
  await Promise.all([makeDeliveries(app, signal), sendDeliveries(app, signal)])
}

/** Wakes on notifications and polls as well; either alone is enough. */
async function makeDeliveries(app: Delivering, signal: AbortSignal): Promise<void> {
  let organizations = new Set<OrganizationId>()
  let woken = Promise.withResolvers<void>()
  const wake = (id: string) => {
    organizations.add(id as OrganizationId)
    woken.resolve()
  }
  const unsubscribes = (['events', 'activity'] as const).map((topic) =>
    app.changes.subscribe(wake, topic),
  )
  const fanOutAll = async (of: OrganizationId | null) => {
    for (let more = true; more && !signal.aborted;) {
      const result = await fanOut(app, of)
      if (result.made > 0) app.changes.publish(of ?? 'all', 'deliveries')
      more = result.more
    }
  }
  try {
    while (!signal.aborted) {
      const named = organizations
      organizations = new Set()
      woken = Promise.withResolvers()
      for (const id of named) await logFailure(app, () => fanOutAll(id))
      if (named.size === 0) await logFailure(app, () => fanOutAll(null))
      await Promise.race([woken.promise, pause(app.timing.pollMs, signal)])
    }
  } finally {
    for (const unsubscribe of unsubscribes) unsubscribe()
  }
}
