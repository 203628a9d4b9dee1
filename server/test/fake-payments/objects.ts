import type Stripe from 'stripe'

/*
 * Objects as Stripe sends them, typed by its package: a field that its types require is here. Exact decimals
 * are strings on the wire, which the package turns into objects.
 */

type WithDecimals<T, Key extends keyof T> = Omit<T, Key> & { [K in Key]: string | null }

export type Price = WithDecimals<Stripe.Price, 'unit_amount_decimal'>
type Plan = WithDecimals<Stripe.Plan, 'amount_decimal'>
export type Item = Omit<Stripe.SubscriptionItem, 'price' | 'plan'> & {
  price: Price
  plan: Plan
}
export type Subscription = Omit<Stripe.Subscription, 'items' | 'pending_update'> & {
  items: Stripe.ApiList<Item>
  pending_update: Omit<Stripe.Subscription.PendingUpdate, 'subscription_items'> | null
}
export type InvoiceItem = WithDecimals<Stripe.InvoiceItem, 'quantity_decimal'>
export type Line = WithDecimals<Stripe.InvoiceLineItem, 'quantity_decimal'>
export type Invoice = Omit<Stripe.Invoice, 'lines'> & { lines: Stripe.ApiList<Line> }
export type Session = Stripe.Checkout.Session

export function listOf<T>(data: T[], url: string): Stripe.ApiList<T> {
  return { object: 'list', data, has_more: false, url }
}

export function makePrice(
  id: string,
  created: number,
  input: {
    readonly product: string
    readonly currency: string
    readonly cents: number
    readonly lookupKey: string | null
    readonly interval: string
    readonly metadata: Stripe.Metadata
  },
): Price {
  return {
    id,
    object: 'price',
    active: true,
    billing_scheme: 'per_unit',
    created,
    currency: input.currency,
    custom_unit_amount: null,
    livemode: false,
    lookup_key: input.lookupKey,
    metadata: input.metadata,
    nickname: null,
    product: input.product,
    recurring: {
      interval: input.interval as 'month',
      interval_count: 1,
      meter: null,
      trial_period_days: null,
      usage_type: 'licensed',
    },
    tax_behavior: 'unspecified',
    tiers_mode: null,
    transform_quantity: null,
    type: 'recurring',
    unit_amount: input.cents,
    unit_amount_decimal: String(input.cents),
  }
}

export function makeItem(
  id: string,
  subscription: string,
  price: Price,
  period: { readonly start: number; readonly end: number },
): Item {
  return {
    id,
    object: 'subscription_item',
    billing_thresholds: null,
    created: period.start,
    current_period_end: period.end,
    current_period_start: period.start,
    current_trial: null,
    discounts: [],
    metadata: {},
    plan: planOf(price),
    price,
    quantity: 1,
    subscription,
    tax_rates: [],
  }
}

/** The same as the price, in the words of an older version. */
export function planOf(price: Price): Plan {
  return {
    id: price.id,
    object: 'plan',
    active: price.active,
    amount: price.unit_amount,
    amount_decimal: price.unit_amount_decimal,
    billing_scheme: 'per_unit',
    created: price.created,
    currency: price.currency,
    interval: price.recurring!.interval,
    interval_count: price.recurring!.interval_count,
    livemode: false,
    metadata: price.metadata,
    meter: null,
    nickname: null,
    product: price.product as string,
    tiers_mode: null,
    transform_usage: null,
    trial_period_days: null,
    usage_type: 'licensed',
  }
}

export function makeSubscription(
  id: string,
  created: number,
  input: {
    readonly customer: string
    readonly item: Item
    readonly anchor: Stripe.Subscription.BillingCycleAnchorConfig
    readonly metadata: Stripe.Metadata
  },
): Subscription {
  return {
    id,
    object: 'subscription',
    application: null,
    application_fee_percent: null,
    automatic_tax: { disabled_reason: null, enabled: false, liability: null },
    billing_cycle_anchor: input.item.current_period_end,
    billing_cycle_anchor_config: input.anchor,
    billing_mode: { flexible: null, type: 'flexible' },
    billing_schedules: [],
    billing_thresholds: null,
    cancel_at: null,
    cancel_at_period_end: false,
    canceled_at: null,
    cancellation_details: null,
    collection_method: 'charge_automatically',
    created,
    currency: input.item.price.currency,
    customer: input.customer,
    customer_account: null,
    days_until_due: null,
    default_payment_method: null,
    default_source: null,
    description: null,
    discounts: [],
    ended_at: null,
    invoice_settings: { account_tax_ids: null, issuer: { type: 'self' } } as never,
    items: listOf([input.item], `/v1/subscription_items?subscription=${id}`),
    latest_invoice: null,
    livemode: false,
    managed_payments: null,
    metadata: input.metadata,
    next_pending_invoice_item_invoice: null,
    on_behalf_of: null,
    pause_collection: null,
    payment_settings: null,
    pending_invoice_item_interval: null,
    pending_setup_intent: null,
    pending_update: null,
    schedule: null,
    start_date: created,
    status: 'active',
    test_clock: null,
    transfer_data: null,
    trial_end: null,
    trial_settings: null,
    trial_start: null,
  }
}

export function makeSession(
  id: string,
  created: number,
  input: {
    readonly url: string
    readonly customer: string
    readonly clientReferenceId: string | null
    readonly amount: number
    readonly currency: string
    readonly successUrl: string
    readonly cancelUrl: string | null
  },
): Session {
  return {
    id,
    object: 'checkout.session',
    adaptive_pricing: null,
    after_expiration: null,
    allow_promotion_codes: null,
    allowed_payment_method_types: null,
    amount_subtotal: input.amount,
    amount_total: input.amount,
    automatic_tax: { enabled: false, liability: null, provider: null, status: null },
    billing_address_collection: null,
    cancel_url: input.cancelUrl,
    client_reference_id: input.clientReferenceId,
    client_secret: null,
    collected_information: null,
    consent: null,
    consent_collection: null,
    created,
    currency: input.currency,
    currency_conversion: null,
    custom_fields: [],
    custom_text: {
      after_submit: null,
      shipping_address: null,
      submit: null,
      terms_of_service_acceptance: null,
    },
    customer: input.customer,
    customer_account: null,
    customer_creation: null,
    customer_details: null,
    customer_email: null,
    discounts: [],
    expires_at: created + 86_400,
    integration_identifier: null,
    invoice: null,
    invoice_creation: null,
    livemode: false,
    locale: null,
    managed_payments: null,
    metadata: {},
    mode: 'subscription',
    origin_context: null,
    payment_intent: null,
    payment_link: null,
    payment_method_collection: 'always',
    payment_method_configuration_details: null,
    payment_method_options: null,
    payment_method_types: ['card'],
    payment_status: 'unpaid',
    permissions: null,
    recovered_from: null,
    saved_payment_method_options: null,
    setup_intent: null,
    shipping_address_collection: null,
    shipping_cost: null,
    shipping_options: [],
    status: 'open',
    submit_type: null,
    subscription: null,
    success_url: input.successUrl,
    total_details: { amount_discount: 0, amount_shipping: 0, amount_tax: 0 },
    ui_mode: 'hosted_page',
    url: input.url,
    wallet_options: null,
  }
}

export function makeCustomer(
  id: string,
  created: number,
  input: {
    readonly email: string | null
    readonly name: string | null
    readonly metadata: Stripe.Metadata
  },
): Stripe.Customer {
  return {
    id,
    object: 'customer',
    balance: 0,
    created,
    default_source: null,
    delinquent: false,
    description: null,
    email: input.email,
    invoice_settings: {
      custom_fields: null,
      default_payment_method: null,
      footer: null,
      rendering_options: null,
    },
    livemode: false,
    metadata: input.metadata,
    name: input.name,
    shipping: null,
  }
}
