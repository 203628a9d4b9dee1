import type { Bill, PaymentProvider, PlanPrice } from '../../src/payments/provider.ts'

/** A provider for the suite, with what people do on its pages and what happens in it by itself. */
export type PaymentsHarness = {
  readonly provider: PaymentProvider
  /** A page that the provider may lead back to. */
  readonly returnUrl: string
  /** A second provider of the same service, as another process would have. */
  readonly other: PaymentProvider
  /** The customer pays on the page of a checkout, with a card that is good from then on. */
  pay(url: string): Promise<void>
  /** What the card of a customer does from now on. */
  setCard(customerId: string, card: 'good' | 'declined' | 'needs_confirmation'): void
  /** The customer confirms a payment on its page. */
  confirm(url: string): Promise<void>
  /** The customer cancels the subscription on the page of the portal, from the end of the month on. */
  cancelInPortal(url: string): Promise<void>
  /** The next month comes. */
  renew(customerId: string): void
  /** As a day later: what was done under an idempotency key is forgotten. */
  forgetKeys(): void
  /** The invoices of periods: their state, and their lines by key. */
  invoices(customerId: string): readonly {
    readonly id: string
    readonly status: string
    readonly lines: Readonly<Record<string, number>>
  }[]
  /** What the provider charged for subscriptions, in cents, the first first. */
  charges(customerId: string): readonly number[]
  /** The part of the month that is left. */
  restOfMonth(): number
  /** Notifications so far, as they are sent. */
  notifications(): readonly { readonly body: Buffer; readonly headers: Record<string, string> }[]
  /** Puts another amount on the price of a plan. */
  misprice(price: PlanPrice): void
}

export const pro: PlanPrice = {
  planId: 'pro',
  name: 'Pro',
  catalogVersion: 1,
  cents: 9900,
  currency: 'usd',
}
export const startup: PlanPrice = { ...pro, planId: 'startup', name: 'Startup', cents: 49_900 }

let periods = 0

/** What is due for a period of its own. */
export function makeBill(organizationId: `org_${string}`, customerId: string): Bill {
  periods += 10
  return {
    periodId: periods,
    organizationId,
    customerId,
    currency: 'usd',
    start: new Date('2026-01-01T00:00:00Z'),
    end: new Date('2026-02-01T00:00:00Z'),
    lines: [
      { key: 'compute_standard_seconds', description: 'Machines', cents: 1300 },
      { key: 'egress_bytes', description: 'Traffic', cents: 7 },
    ],
  }
}
