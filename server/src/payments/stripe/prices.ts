import { PaymentError, type PlanPrice } from '../provider.ts'
import { isMissing, type Stripe } from './client.ts'

/*
 * Our catalog in Stripe: a product for each plan, and a price for each plan and version of the catalog. A
 * price is found by its lookup key and created if it is missing. One that an operator created is used only
 * if its amount is ours.
 */

/** The id of the price, which is created unless it exists. */
export async function ensurePrice(stripe: Stripe, price: PlanPrice): Promise<string> {
  const found = (await findPrice(stripe, price)) ?? (await createPrice(stripe, price))
  requireSame(found, price)
  return found.id
}

/** The plan of a price of ours. */
export function planOf({ lookup_key: key }: Pick<Stripe.Price, 'lookup_key'>): string | null {
  return /^computer_(.+)_v\d+$/.exec(key ?? '')?.[1] ?? null
}

function keyOf({ planId, catalogVersion }: PlanPrice): string {
  return `computer_${planId}_v${catalogVersion}`
}

async function findPrice(stripe: Stripe, price: PlanPrice): Promise<Stripe.Price | undefined> {
  const { data } = await stripe.prices.list({ lookup_keys: [keyOf(price)], active: true })
  return data[0]
}

async function createPrice(stripe: Stripe, price: PlanPrice): Promise<Stripe.Price> {
  const product = await ensureProduct(stripe, price)
  const { planId, catalogVersion, cents, currency } = price
  try {
    return await stripe.prices.create({
      product,
      lookup_key: keyOf(price),
      currency,
      unit_amount: cents,
      recurring: { interval: 'month' },
      metadata: { plan_id: planId, catalog_version: String(catalogVersion) },
    })
  } catch (error) {
    // Another process has created it meanwhile.
    const found = await findPrice(stripe, price)
    if (found) return found
    throw error
  }
}

/** Its id is of our choosing, so that there is one. Operators may rename it. */
async function ensureProduct(stripe: Stripe, { planId, name }: PlanPrice): Promise<string> {
  const id = `computer_${planId}`
  try {
    return (await stripe.products.retrieve(id)).id
  } catch (error) {
    if (!isMissing(error)) throw error
  }
  try {
    return (await stripe.products.create({ id, name, metadata: { plan_id: planId } })).id
  } catch (error) {
    const { code } = error as Partial<Stripe.errors.StripeError>
    if (code === 'resource_already_exists') return id
    throw error
  }
}

/** Nobody pays another price than the one that our catalog shows. */
function requireSame(found: Stripe.Price, price: PlanPrice): void {
  const { unit_amount: cents, currency, recurring } = found
  const isMonthly = recurring?.interval === 'month' && recurring.interval_count === 1
  if (isMonthly && cents === price.cents && currency === price.currency) return
  throw new PaymentError(
    `plan ${price.planId} cannot be bought: its price at the payment provider is not that of the catalog; ask the operator of this server`,
    {
      retryable: false,
      cause: new Error(
        `price ${found.id} of Stripe, with the lookup key ${keyOf(price)}, must be ${price.cents} cents (${price.currency}) a month`,
      ),
    },
  )
}
