import type Stripe from 'stripe'
import { makeInvoice, makeInvoiceItem } from './invoice-objects.ts'
import {
  makeItem,
  makeSubscription,
  planOf,
  type Invoice,
  type Price,
  type Subscription,
} from './objects.ts'
import { find, type Checkout, type State } from './state.ts'

/* What happens in Stripe without a call of its API: purchases, renewals, and payments of invoices. */

/** Stripe charges no smaller amount (of dollars); it goes to the customer's balance. */
const smallestCharge = 50

/** The customer pays on the page of a checkout. */
export function completeCheckout(state: State, checkout: Checkout): Subscription {
  const { session, priceId, metadata } = checkout
  const price = find(state.prices, 'price', priceId)
  const customer = session.customer as string
  const start = state.now()
  const end = startOfNextMonth(start)
  const id = state.newId('sub')
  const subscription = makeSubscription(id, start, {
    customer,
    item: makeItem(state.newId('si'), id, price, { start, end }),
    anchor: { day_of_month: 1, hour: 0, minute: 0, month: null, second: 0 },
    metadata,
  })
  state.subscriptions.set(id, subscription)
  const invoice = billSubscription(state, subscription, {
    reason: 'subscription_create',
    cents: prorate(price.unit_amount!, start, { start: startOfMonth(start), end }),
  })
  Object.assign(session, {
    status: 'complete',
    payment_status: 'paid',
    subscription: id,
    invoice: invoice.id,
    url: null,
  })
  state.emit('customer.subscription.created', subscription)
  state.emit('checkout.session.completed', session)
  return subscription
}

/** The first of a month comes: the subscription is charged for it, or ends. */
export function renew(state: State, subscription: Subscription): void {
  const item = subscription.items.data[0]!
  if (subscription.cancel_at_period_end) return endSubscription(state, subscription)
  item.current_period_start = item.current_period_end
  item.current_period_end = startOfNextMonth(item.current_period_start)
  const invoice = billSubscription(state, subscription, {
    reason: 'subscription_cycle',
    cents: item.price.unit_amount!,
  })
  subscription.status = invoice.status === 'paid' ? 'active' : 'past_due'
  state.emit('customer.subscription.updated', subscription)
}

export function endSubscription(state: State, subscription: Subscription): void {
  subscription.status = 'canceled'
  subscription.canceled_at ??= state.now()
  subscription.ended_at = state.now()
  state.emit('customer.subscription.deleted', subscription)
}

export function setPrice(subscription: Subscription, price: Price): void {
  const item = subscription.items.data[0]!
  item.price = price
  item.plan = planOf(price)
}

/** Charges the difference for the rest of the period, from the price that is in effect. */
export function billIncrease(state: State, subscription: Subscription, price: Price): Invoice {
  const item = subscription.items.data[0]!
  const difference = price.unit_amount! - item.price.unit_amount!
  return billSubscription(state, subscription, {
    reason: 'subscription_update',
    cents: prorate(difference, state.now(), {
      start: startOfMonth(item.current_period_start),
      end: item.current_period_end,
    }),
  })
}

function billSubscription(
  state: State,
  subscription: Subscription,
  { reason, cents }: { readonly reason: Stripe.Invoice.BillingReason; readonly cents: number },
): Invoice {
  const invoice = makeInvoice(state.newId('in'), state.now(), {
    customer: subscription.customer as string,
    currency: subscription.currency,
    reason,
    metadata: {},
    description: null,
    autoAdvance: true,
  })
  state.invoices.set(invoice.id, invoice)
  addItem(state, invoice, { cents, description: `Subscription (${reason})` })
  subscription.latest_invoice = invoice.id
  finalize(state, invoice)
  return invoice
}

function addItem(
  state: State,
  invoice: Invoice,
  { cents, description }: { readonly cents: number; readonly description: string },
): void {
  const now = state.now()
  const item = makeInvoiceItem(state.newId('ii'), now, {
    customer: invoice.customer as string,
    invoice: invoice.id,
    amount: cents,
    currency: invoice.currency,
    description,
    period: { start: now, end: now },
    metadata: {},
  })
  state.invoiceItems.set(item.id, item)
}

export function itemsOf(state: State, invoiceId: string) {
  return [...state.invoiceItems.values()].filter(({ invoice }) => invoice === invoiceId)
}

/** Makes an invoice final, and charges the card of its customer. */
export function finalize(state: State, invoice: Invoice): void {
  const customer = find(state.customers, 'customer', invoice.customer as string)
  const total = itemsOf(state, invoice.id).reduce((sum, { amount }) => sum + amount, 0)
  invoice.starting_balance = customer.balance
  const due = total + customer.balance
  const isCharged = due >= smallestCharge
  Object.assign(invoice, {
    status: 'open',
    number: `FAKE-${invoice.id.slice(-4)}`,
    total,
    subtotal: total,
    amount_due: isCharged ? due : 0,
    amount_remaining: isCharged ? due : 0,
    ending_balance: isCharged ? 0 : due,
    hosted_invoice_url: `${state.url}/invoice/${invoice.id}`,
  })
  customer.balance = isCharged ? 0 : due
  invoice.status_transitions.finalized_at = state.now()
  if (!isCharged) return markPaid(state, invoice)
  charge(state, invoice)
}

/** Charges the card. A card that has to be confirmed, or none, leaves the invoice open. */
export function charge(state: State, invoice: Invoice): void {
  const card = state.cards.get(invoice.customer as string)
  invoice.attempted = true
  invoice.attempt_count += 1
  if (card === 'good') return markPaid(state, invoice)
  state.emit('invoice.payment_failed', invoice)
  if (card === 'needs_confirmation') state.emit('invoice.payment_action_required', invoice)
}

/** The invoice is paid, by the card or on its page. What waited for it happens. */
export function markPaid(state: State, invoice: Invoice): void {
  Object.assign(invoice, {
    status: 'paid',
    amount_paid: invoice.amount_due,
    amount_remaining: 0,
  })
  invoice.status_transitions.paid_at = state.now()
  state.emit('invoice.paid', invoice)
  const pending = state.pendingPrices.get(invoice.id)
  if (pending) {
    state.pendingPrices.delete(invoice.id)
    const subscription = find(state.subscriptions, 'subscription', pending.subscription)
    setPrice(subscription, find(state.prices, 'price', pending.price))
    subscription.pending_update = null
    state.emit('customer.subscription.pending_update_applied', subscription)
    state.emit('customer.subscription.updated', subscription)
  }
  for (const subscription of state.subscriptions.values()) {
    if (subscription.latest_invoice !== invoice.id || subscription.status !== 'past_due') continue
    subscription.status = 'active'
    state.emit('customer.subscription.updated', subscription)
  }
}

function prorate(
  cents: number,
  now: number,
  { start, end }: { readonly start: number; readonly end: number },
): number {
  return Math.round((cents * (end - now)) / (end - start))
}

function startOfMonth(seconds: number): number {
  const date = new Date(seconds * 1000)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) / 1000
}

function startOfNextMonth(seconds: number): number {
  const date = new Date(seconds * 1000)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1) / 1000
}
