import type Stripe from 'stripe'
import type { Invoice, InvoiceItem, Price, Session, Subscription } from './objects.ts'
import { missing } from './parameters.ts'

/** What a card does when it is charged. */
export type Card = 'good' | 'declined' | 'needs_confirmation'

export type Checkout = {
  session: Session
  readonly priceId: string
  readonly metadata: Stripe.Metadata
}
export type Portal = { readonly customer: string; readonly returnUrl: string }

/** Everything that the fake remembers. */
export type State = {
  readonly url: string
  /** Seconds, as all of Stripe's times. */
  now(): number
  newId(prefix: string): string
  /** Tells of a change of an object, as it is now. */
  emit(type: string, object: { readonly id: string }): void
  readonly customers: Map<string, Stripe.Customer>
  /** By customer. A customer without a card cannot be charged. */
  readonly cards: Map<string, Card>
  readonly products: Map<string, Stripe.Product>
  readonly prices: Map<string, Price>
  readonly checkouts: Map<string, Checkout>
  readonly portals: Map<string, Portal>
  readonly subscriptions: Map<string, Subscription>
  readonly invoices: Map<string, Invoice>
  readonly invoiceItems: Map<string, InvoiceItem>
  /** Subscriptions whose change waits for the payment of an invoice, by the invoice. */
  readonly pendingPrices: Map<string, { readonly subscription: string; readonly price: string }>
}

export function createState(options: Pick<State, 'url' | 'now' | 'emit'>): State {
  let count = 0
  return {
    ...options,
    newId(prefix) {
      count += 1
      return `${prefix}_fake${String(count).padStart(8, '0')}`
    },
    customers: new Map(),
    cards: new Map(),
    products: new Map(),
    prices: new Map(),
    checkouts: new Map(),
    portals: new Map(),
    subscriptions: new Map(),
    invoices: new Map(),
    invoiceItems: new Map(),
    pendingPrices: new Map(),
  }
}

export function find<T>(map: ReadonlyMap<string, T>, what: string, id: string): T {
  const found = map.get(id)
  if (found === undefined) throw missing(what, id)
  return found
}
