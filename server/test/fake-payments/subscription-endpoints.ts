import type Stripe from 'stripe'
import { billIncrease, endSubscription, setPrice } from './billing.ts'
import { paginate, type FakeEndpoint } from './endpoint.ts'
import type { Price, Subscription } from './objects.ts'
import { page, parameters, refused, type Values } from './parameters.ts'
import { find, type State } from './state.ts'

const statuses = [
  'active',
  'all',
  'canceled',
  'ended',
  'incomplete',
  'incomplete_expired',
  'past_due',
  'paused',
  'trialing',
  'unpaid',
]
/** Stripe refuses all others together with `pending_if_incomplete`. */
const pendingParameters = ['items', 'proration_behavior', 'payment_behavior', 'expand']

export const subscriptionEndpoints: readonly FakeEndpoint[] = [
  {
    method: 'GET',
    path: '/v1/subscriptions',
    parameters: parameters<Stripe.SubscriptionListParams>({
      ...page,
      customer: 'string',
      status: { oneOf: statuses },
    }),
    handle(state, values) {
      const { customer, status } = values
      if (customer !== undefined) find(state.customers, 'customer', customer)
      const found = [...state.subscriptions.values()].filter(
        (one) =>
          (customer === undefined || one.customer === customer) &&
          (status === 'all' || one.status === status || (!status && one.status !== 'canceled')),
      )
      return paginate(found, values, '/v1/subscriptions')
    },
  },
  {
    method: 'GET',
    path: '/v1/subscriptions/*',
    parameters: parameters<Stripe.SubscriptionRetrieveParams>({}),
    handle: (state, _values, id) => find(state.subscriptions, 'subscription', id),
  },
  {
    method: 'POST',
    path: '/v1/subscriptions/*',
    parameters: parameters<Stripe.SubscriptionUpdateParams>({
      items: { list: { object: { id: 'string', price: 'string' } } },
      proration_behavior: { oneOf: ['always_invoice', 'create_prorations', 'none'] },
      payment_behavior: {
        oneOf: [
          'allow_incomplete',
          'default_incomplete',
          'error_if_incomplete',
          'pending_if_incomplete',
        ],
      },
      cancel_at_period_end: 'boolean',
      expand: { list: { oneOf: ['latest_invoice'] } },
    }),
    handle: (state, values, id) =>
      update(state, find(state.subscriptions, 'subscription', id), values),
  },
  {
    method: 'DELETE',
    path: '/v1/subscriptions/*',
    parameters: parameters<Stripe.SubscriptionCancelParams>({
      prorate: 'boolean',
      invoice_now: 'boolean',
    }),
    handle(state, _values, id) {
      const subscription = find(state.subscriptions, 'subscription', id)
      if (subscription.status === 'canceled') throw refused('No such subscription (canceled)')
      endSubscription(state, subscription)
      return subscription
    },
  },
]

function update(state: State, subscription: Subscription, values: Values): object {
  if (subscription.status === 'canceled') {
    throw refused('A canceled subscription can only update its cancellation_details and metadata.')
  }
  const { cancel_at_period_end: isEnding, items, payment_behavior: behavior } = values
  if (behavior === 'pending_if_incomplete') {
    const extra = Object.keys(values).find((name) => !pendingParameters.includes(name))
    if (extra !== undefined) {
      throw refused(`You cannot use ${extra} with payment_behavior=pending_if_incomplete`)
    }
  }
  if (isEnding !== undefined) {
    subscription.cancel_at_period_end = isEnding
    subscription.canceled_at = isEnding ? state.now() : null
  }
  if (items !== undefined) changePrice(state, subscription, values)
  state.emit('customer.subscription.updated', subscription)
  const latest = subscription.latest_invoice as string | null
  return values['expand'] === undefined || latest === null
    ? subscription
    : { ...subscription, latest_invoice: find(state.invoices, 'invoice', latest) }
}

function changePrice(state: State, subscription: Subscription, values: Values): void {
  const [{ id: itemId, price: priceId }] = values['items']
  const item = subscription.items.data.find(({ id }) => id === itemId)
  if (!item) throw refused(`No such subscription item: '${itemId}'`, { code: 'resource_missing' })
  const price: Price = find(state.prices, 'price', priceId)
  if (price.id === item.price.id) return
  switch (values['proration_behavior']) {
    case 'none':
      return setPrice(subscription, price)
    case 'always_invoice':
      break
    default:
      throw refused('the fake bills changes at once or not at all')
  }
  const invoice = billIncrease(state, subscription, price)
  if (invoice.status === 'paid') return setPrice(subscription, price)
  if (values['payment_behavior'] !== 'pending_if_incomplete') {
    subscription.status = 'past_due'
    return setPrice(subscription, price)
  }
  state.pendingPrices.set(invoice.id, { subscription: subscription.id, price: price.id })
  subscription.pending_update = {
    billing_cycle_anchor: null,
    cancel_at_period_end: null,
    discount: null,
    discounts: null,
    expires_at: state.now() + 23 * 3600,
    metadata: null,
    trial_end: null,
    trial_from_plan: null,
  }
}
