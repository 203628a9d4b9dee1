import type { CheckoutPage, NewCustomer, Order } from '../provider.ts'
import { type Stripe } from './client.ts'
import { ensurePrice } from './prices.ts'

/** The first of each month, 00:00 UTC, as our periods. */
const anchor = { day_of_month: 1, hour: 0, minute: 0, second: 0 }

/**
 * A second customer after a day, when Stripe has forgotten the key, could only be empty: the first is stored
 * before anything is bought. Repetitions under a key have to be the same, so what may change follows.
 */
export async function openCustomer(
  stripe: Stripe,
  { organizationId, name, email }: NewCustomer,
): Promise<string> {
  const { id } = await stripe.customers.create(
    { metadata: { organization_id: organizationId } },
    { idempotencyKey: `customer:${organizationId}` },
  )
  await stripe.customers.update(id, { name, ...(email !== null && { email }) })
  return id
}

export async function openCheckout(stripe: Stripe, order: Order): Promise<CheckoutPage> {
  const { organizationId, customerId, price, successUrl, cancelUrl } = order
  const { id, url } = await stripe.checkout.sessions.create({
    mode: 'subscription',
    customer: customerId,
    client_reference_id: organizationId,
    line_items: [{ price: await ensurePrice(stripe, price), quantity: 1 }],
    subscription_data: {
      billing_cycle_anchor_config: anchor,
      proration_behavior: 'create_prorations',
      metadata: { organization_id: organizationId },
    },
    success_url: successUrl,
    cancel_url: cancelUrl,
  })
  if (url === null) throw new Error(`checkout session ${id} of Stripe has no address`)
  return { id, url }
}

export async function endCheckout(stripe: Stripe, id: string): Promise<'ended' | 'paid'> {
  const { status } = await stripe.checkout.sessions.retrieve(id)
  if (status === 'complete') return 'paid'
  if (status === 'expired') return 'ended'
  try {
    await stripe.checkout.sessions.expire(id)
    return 'ended'
  } catch (error) {
    // It may have been paid or have expired meanwhile, which Stripe refuses alike.
    const { status: now } = await stripe.checkout.sessions.retrieve(id)
    if (now === 'complete') return 'paid'
    if (now === 'expired') return 'ended'
    throw error
  }
}

export async function openPortal(
  stripe: Stripe,
  customerId: string,
  returnUrl: string,
): Promise<{ readonly url: string }> {
  const { url } = await stripe.billingPortal.sessions.create({
    customer: customerId,
    return_url: returnUrl,
  })
  return { url }
}
