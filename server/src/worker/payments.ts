import type { App } from '../app.ts'
import {
  applyEvents,
  claimEvents,
  listOrphaned,
  listUnread,
  postponeEvents,
  type EventRow,
} from '../domain/billing/provider-events.ts'
import { refreshSubscription } from '../domain/billing/subscriptions.ts'
import { pause } from '../pace.ts'
import { backoffMs } from '../timing.ts'
import { logFailure } from './queue.ts'

type PaymentsApp = Pick<App, 'config' | 'timing' | 'db' | 'log' | 'payments'>

const maxReadings = 500
const maxCancellations = 100

/** Works on notifications of the payment provider until the signal is aborted. */
export async function workOnEvents(app: PaymentsApp, signal: AbortSignal): Promise<void> {
  if (!app.payments.collectsPayments) return
  while (!signal.aborted) {
    const count = await logFailure(app, () => workOnDueEvents(app))
    if (!count) await pause(app.timing.pollMs, signal)
  }
}

/** Returns how many notifications were due. */
export async function workOnDueEvents(app: PaymentsApp): Promise<number> {
  const events = await claimEvents(app.db)
  for (const [customerId, some] of Map.groupBy(events, ({ customer_id }) => customer_id)) {
    await workOnCustomer(app, customerId, some)
  }
  return events.length
}

async function workOnCustomer(
  app: PaymentsApp,
  customerId: string,
  events: readonly EventRow[],
): Promise<void> {
  try {
    await applyEvents(app, customerId, events)
  } catch (error) {
    const fields = { err: error, customer_id: customerId }
    app.log.warn(fields, 'could not work on notifications of the payment provider; will retry')
    const reason = error instanceof Error ? error.message : String(error)
    const attempts = Math.max(...events.map((event) => event.attempts))
    const delayMs = backoffMs(app.timing.paymentRetry, attempts - 1)
    await postponeEvents(app.db, events, { reason, delayMs })
  }
}

/** Reads subscriptions that were not read for an hour, for notifications that never came. */
export async function rereadSubscriptions(app: PaymentsApp): Promise<void> {
  if (!app.payments.collectsPayments) return
  for (const organizationId of await listUnread(app.db, maxReadings)) {
    await logFailure(app, () => refreshSubscription(app, organizationId))
  }
}

/** Ends the subscriptions of deleted organizations, so that nobody goes on paying for one. */
export async function cancelOrphaned(app: PaymentsApp): Promise<void> {
  if (!app.payments.collectsPayments) return
  for (const orphan of await listOrphaned(app.db, maxCancellations)) {
    await logFailure(app, async () => {
      await app.payments.cancelSubscription(orphan.subscription_id!)
      await refreshSubscription(app, orphan.organization_id)
    })
  }
}
