import type Stripe from 'stripe'
import { listOf, type Invoice, type InvoiceItem, type Line } from './objects.ts'

export function makeInvoice(
  id: string,
  created: number,
  input: {
    readonly customer: string
    readonly currency: string
    readonly reason: Stripe.Invoice.BillingReason
    readonly metadata: Stripe.Metadata
    readonly description: string | null
    readonly autoAdvance: boolean
  },
): Invoice {
  return {
    id,
    object: 'invoice',
    account_country: 'US',
    account_name: null,
    account_tax_ids: null,
    amount_due: 0,
    amount_overpaid: 0,
    amount_paid: 0,
    amount_remaining: 0,
    amount_shipping: 0,
    application: null,
    attempt_count: 0,
    attempted: false,
    auto_advance: input.autoAdvance,
    automatic_tax: {
      disabled_reason: null,
      enabled: false,
      liability: null,
      provider: null,
      status: null,
    },
    automatically_finalizes_at: null,
    billing_reason: input.reason,
    collection_method: 'charge_automatically',
    created,
    currency: input.currency,
    custom_fields: null,
    customer: input.customer,
    customer_account: null,
    customer_address: null,
    customer_email: null,
    customer_name: null,
    customer_phone: null,
    customer_shipping: null,
    customer_tax_exempt: 'none',
    default_payment_method: null,
    default_source: null,
    default_tax_rates: [],
    description: input.description,
    discounts: [],
    due_date: null,
    effective_at: null,
    ending_balance: null,
    footer: null,
    from_invoice: null,
    hosted_invoice_url: null,
    invoice_pdf: null,
    issuer: { type: 'self' },
    last_finalization_error: null,
    latest_revision: null,
    lines: listOf<Line>([], `/v1/invoices/${id}/lines`),
    livemode: false,
    metadata: input.metadata,
    next_payment_attempt: null,
    number: null,
    on_behalf_of: null,
    parent: null,
    payment_settings: {
      default_mandate: null,
      payment_method_options: null,
      payment_method_types: null,
    },
    period_end: created,
    period_start: created,
    post_payment_credit_notes_amount: 0,
    pre_payment_credit_notes_amount: 0,
    receipt_number: null,
    rendering: null,
    shipping_cost: null,
    shipping_details: null,
    starting_balance: 0,
    statement_descriptor: null,
    status: 'draft',
    status_transitions: {
      finalized_at: null,
      marked_uncollectible_at: null,
      paid_at: null,
      voided_at: null,
    },
    subtotal: 0,
    subtotal_excluding_tax: 0,
    test_clock: null,
    total: 0,
    total_discount_amounts: [],
    total_excluding_tax: 0,
    total_pretax_credit_amounts: [],
    total_taxes: [],
    webhooks_delivered_at: null,
  }
}

export function makeInvoiceItem(
  id: string,
  date: number,
  input: {
    readonly customer: string
    readonly invoice: string
    readonly amount: number
    readonly currency: string
    readonly description: string | null
    readonly period: { readonly start: number; readonly end: number }
    readonly metadata: Stripe.Metadata
  },
): InvoiceItem {
  return {
    id,
    object: 'invoiceitem',
    amount: input.amount,
    currency: input.currency,
    customer: input.customer,
    customer_account: null,
    date,
    description: input.description,
    discountable: true,
    discounts: [],
    invoice: input.invoice,
    livemode: false,
    metadata: input.metadata,
    net_amount: input.amount,
    parent: null,
    period: input.period,
    pricing: null,
    proration: false,
    quantity: 1,
    quantity_decimal: '1',
    tax_rates: [],
    test_clock: null,
  }
}
