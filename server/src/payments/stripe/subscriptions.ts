import type { BillingState } from '@computer/contract'
import type { CustomerReading, Subscription, SubscriptionChange } from '../provider.ts'
import { isMissing, type Stripe } from './client.ts'
import { ensurePrice, planOf } from './prices.ts'

const pageSize = 100

/** What each status means for the account. `incomplete` means nothing yet. */
const states: Readonly<Record<string, BillingState>> = {
  trialing: 'trialing',
  active: 'active',
  past_due: 'past_due',
  unpaid: 'past_due',
  paused: 'past_due',
  canceled: 'canceled',
}

export async function readCustomer(stripe: Stripe, customerId: string): Promise<CustomerReading> {
  const all = await listSubscriptions(stripe, customerId)
  const counting = all.toSorted((a, b) => b.created - a.created).flatMap(toSubscription)
  const live = counting.filter(({ state }) => state !== 'canceled')
  const [subscription = counting[0] ?? null, ...others] = live
  return {
    subscription,
    otherSubscriptionIds: others.map(({ id }) => id),
    owes: await hasFailedInvoice(stripe, customerId),
  }
}

/**
 * Stripe refunds what a decrease leaves unused unless it is told not to, and reckons an increase from the
 * current price. So a waiting decrease is undone before an increase, for free: its price has been paid.
 */
export async function changeSubscription(
  stripe: Stripe,
  { subscriptionId, price, isIncrease, paid }: SubscriptionChange,
): Promise<{ readonly url: string | null }> {
  const { items, cancel_at_period_end: isEnding } =
    await stripe.subscriptions.retrieve(subscriptionId)
  const item = items.data[0]
  if (!item) throw new Error(`subscription ${subscriptionId} of Stripe has no item`)
  if (isEnding) {
    await stripe.subscriptions.update(subscriptionId, { cancel_at_period_end: false })
  }
  const moveTo = async (priceId: string) => {
    await stripe.subscriptions.update(subscriptionId, {
      items: [{ id: item.id, price: priceId }],
      proration_behavior: 'none',
    })
  }
  const wanted = await ensurePrice(stripe, price)
  if (!isIncrease) {
    if (item.price.id !== wanted) await moveTo(wanted)
    return { url: null }
  }
  if (paid) await moveTo(await ensurePrice(stripe, paid))
  const { pending_update: pending, latest_invoice: invoice } = await stripe.subscriptions.update(
    subscriptionId,
    {
      items: [{ id: item.id, price: wanted }],
      proration_behavior: 'always_invoice',
      payment_behavior: 'pending_if_incomplete',
      expand: ['latest_invoice'],
    },
  )
  if (pending === null) return { url: null }
  const { hosted_invoice_url: url } = invoice as Stripe.Invoice
  if (!url) throw new Error(`the pending invoice of subscription ${subscriptionId} has no address`)
  return { url }
}

export async function cancelSubscription(stripe: Stripe, subscriptionId: string): Promise<void> {
  const { status } = await stripe.subscriptions.retrieve(subscriptionId)
  if (status === 'canceled' || status === 'incomplete_expired') return
  await stripe.subscriptions.cancel(subscriptionId, { prorate: false, invoice_now: false })
}

/** A customer who was deleted in Stripe has none. */
async function listSubscriptions(
  stripe: Stripe,
  customer: string,
): Promise<readonly Stripe.Subscription[]> {
  try {
    const list = stripe.subscriptions.list({ customer, status: 'all', limit: pageSize })
    return await list.autoPagingToArray({ limit: 10 * pageSize })
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

function toSubscription(subscription: Stripe.Subscription): readonly Subscription[] {
  const { id, status, items, trial_end: trialEnd, ended_at: endedAt } = subscription
  const state = states[status]
  if (state === undefined) return []
  const price = items.data[0]?.price
  return [
    {
      id,
      state,
      planId: price ? planOf(price) : null,
      isEnding: subscription.cancel_at_period_end || subscription.cancel_at !== null,
      trialEndsAt: trialEnd === null ? null : new Date(trialEnd * 1000),
      endedAt: endedAt === null ? null : new Date(endedAt * 1000),
    },
  ]
}

/** Whether an invoice of a period was attempted in vain. Those of the subscription are its status. */
async function hasFailedInvoice(stripe: Stripe, customer: string): Promise<boolean> {
  try {
    for await (const invoice of stripe.invoices.list({
      customer,
      status: 'open',
      limit: pageSize,
    })) {
      if (invoice.attempted && invoice.metadata?.['period_id'] !== undefined) return true
    }
    return false
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}
