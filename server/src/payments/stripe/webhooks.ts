import { ForgedEvent, type Headers, type ProviderEvent } from '../provider.ts'
import { idOf, type Stripe } from './client.ts'

const toleranceSeconds = 300

/** Operators name the same in Stripe (docs/plans-and-billing.md). */
const eventTypes = [
  'checkout.session.completed',
  'customer.subscription.created',
  'customer.subscription.updated',
  'customer.subscription.deleted',
  'customer.subscription.paused',
  'customer.subscription.resumed',
  'customer.subscription.trial_will_end',
  'customer.subscription.pending_update_applied',
  'customer.subscription.pending_update_expired',
  'invoice.paid',
  'invoice.payment_failed',
  'invoice.payment_action_required',
]

export function verifyEvent(
  stripe: Stripe,
  secret: string,
  body: Buffer,
  headers: Headers,
): ProviderEvent | null {
  const event = readEvent(stripe, secret, body, headers['stripe-signature'])
  if (!eventTypes.includes(event.type)) return null
  const { customer } = event.data.object as { customer?: string | { id: string } | null }
  const customerId = idOf(customer)
  return customerId === null ? null : { id: event.id, type: event.type, customerId }
}

function readEvent(
  stripe: Stripe,
  secret: string,
  body: Buffer,
  signature: string | string[] | undefined,
): Stripe.Event {
  if (typeof signature !== 'string') throw new ForgedEvent('the signature is missing')
  try {
    return stripe.webhooks.constructEvent(body, signature, secret, toleranceSeconds)
  } catch (error) {
    throw new ForgedEvent('the signature does not fit', { cause: error })
  }
}
