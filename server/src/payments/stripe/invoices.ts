import type { Bill } from '../provider.ts'
import { type Stripe } from './client.ts'

const pageSize = 100
const daySeconds = 86_400

/*
 * The invoice of a period. Idempotency keys keep repetitions from doing anything twice for a day; Stripe
 * forgets them then. So each step looks first at what exists: the invoice by the period in its metadata,
 * and the lines by their keys. Stripe must not finalize a draft that lacks lines: it may after the last step.
 */

export async function draftInvoice(stripe: Stripe, bill: Bill): Promise<string> {
  const found = await findInvoice(stripe, bill)
  if (found) return found.id
  const { id } = await stripe.invoices.create(
    {
      customer: bill.customerId,
      currency: bill.currency,
      collection_method: 'charge_automatically',
      auto_advance: false,
      pending_invoice_items_behavior: 'exclude',
      description: `Use from ${dayOf(bill.start)} until ${dayOf(new Date(bill.end.getTime() - 1))} (UTC)`,
      metadata: { period_id: String(bill.periodId), organization_id: bill.organizationId },
    },
    { idempotencyKey: keyOf(bill, 'invoice') },
  )
  return id
}

export async function fillInvoice(stripe: Stripe, invoiceId: string, bill: Bill): Promise<void> {
  const { status } = await stripe.invoices.retrieve(invoiceId)
  if (status !== 'draft') return
  const there = new Set<string | undefined>()
  for await (const { metadata } of stripe.invoiceItems.list({
    invoice: invoiceId,
    limit: pageSize,
  })) {
    there.add(metadata?.['line'])
  }
  for (const { key, cents, description } of bill.lines) {
    if (there.has(key)) continue
    await stripe.invoiceItems.create(
      {
        customer: bill.customerId,
        invoice: invoiceId,
        amount: cents,
        currency: bill.currency,
        description,
        period: { start: secondsOf(bill.start), end: secondsOf(bill.end) },
        metadata: { line: key, period_id: String(bill.periodId) },
      },
      { idempotencyKey: keyOf(bill, `line:${key}`) },
    )
  }
}

export async function sendInvoice(stripe: Stripe, invoiceId: string, bill: Bill): Promise<void> {
  const { status } = await stripe.invoices.retrieve(invoiceId)
  if (status !== 'draft') return
  await stripe.invoices.finalizeInvoice(
    invoiceId,
    { auto_advance: true },
    { idempotencyKey: keyOf(bill, 'finalize') },
  )
}

/** Stripe's search lags behind; its lists do not. Clocks may differ, but not by a day. */
async function findInvoice(stripe: Stripe, bill: Bill): Promise<Stripe.Invoice | undefined> {
  const list = stripe.invoices.list({
    customer: bill.customerId,
    created: { gte: secondsOf(bill.end) - daySeconds },
    limit: pageSize,
  })
  for await (const invoice of list) {
    const isOurs = invoice.metadata?.['period_id'] === String(bill.periodId)
    if (isOurs && invoice.status !== 'void') return invoice
  }
  return undefined
}

function keyOf({ periodId }: Bill, step: string): string {
  return `period:${periodId}:${step}`
}

function secondsOf(time: Date): number {
  return Math.floor(time.getTime() / 1000)
}

function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10)
}
