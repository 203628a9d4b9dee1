import type { BillingState, OrganizationId } from '@computer/contract'

/**
 * The payment provider: it has the customers, their subscriptions to plans and their means of payment, and
 * collects what is due. Implemented by none.ts and stripe/, both held to the suite of
 * server/test/conformance/payments.ts.
 *
 * What was used is rated by us: the provider gets amounts, never quantities. Every call may be repeated. A
 * call that fails throws PaymentError.
 */
export type PaymentProvider = {
  readonly collectsPayments: boolean
  /** Opens the customer of an organization. A repetition within a day returns the same one. */
  openCustomer(customer: NewCustomer): Promise<string>
  /** A page on which a customer without a subscription buys one to a plan. */
  checkout(order: Order): Promise<CheckoutPage>
  /** Makes a page of `checkout` unusable, unless it has been paid on. */
  endCheckout(checkoutId: string): Promise<'ended' | 'paid'>
  /**
   * Changes a subscription to another plan. An increase is charged at once, for the rest of the month;
   * anything else is charged from the next month on. Returns the page on which the charge has to be
   * confirmed, if it has to: until then nothing is changed.
   */
  changeSubscription(change: SubscriptionChange): Promise<{ readonly url: string | null }>
  /** Ends a subscription now, without a refund. */
  cancelSubscription(subscriptionId: string): Promise<void>
  /** The page of a customer's invoices, means of payment and subscription. */
  portal(customerId: string, returnUrl: string): Promise<{ readonly url: string }>
  readCustomer(customerId: string): Promise<CustomerReading>
  /** The steps by which a period is charged, in this order. */
  readonly charge: {
    /** The invoice of the period, which is created unless it exists. Returns its id. */
    draft(bill: Bill): Promise<string>
    /** Adds the lines that the invoice does not have yet. */
    fill(invoiceId: string, bill: Bill): Promise<void>
    /** Makes the invoice final. From then on the provider collects it. */
    send(invoiceId: string, bill: Bill): Promise<void>
  }
  /** Reads a notification of the provider, or null if it is of no interest. Refuses what it did not send. */
  verify(body: Buffer, headers: Headers): Promise<ProviderEvent | null>
}

export type NewCustomer = {
  readonly organizationId: OrganizationId
  readonly name: string
  readonly email: string | null
}

/** A plan of a version of the catalog, and what a month of it costs. */
export type PlanPrice = {
  readonly planId: string
  readonly name: string
  readonly catalogVersion: number
  readonly cents: number
  readonly currency: string
}

export type Order = {
  readonly organizationId: OrganizationId
  readonly customerId: string
  readonly price: PlanPrice
  readonly successUrl: string
  readonly cancelUrl: string
}

export type CheckoutPage = { readonly id: string; readonly url: string }

export type SubscriptionChange = {
  readonly subscriptionId: string
  readonly price: PlanPrice
  readonly isIncrease: boolean
  /** What has been paid for this month, if the subscription is about to change to something lower. */
  readonly paid: PlanPrice | null
}

/** What counts of a customer right now. */
export type CustomerReading = {
  /** The newest one that goes on, or else the newest that has ended. One that was never paid is none. */
  readonly subscription: Subscription | null
  /** Others that go on as well, which nothing of ours creates. */
  readonly otherSubscriptionIds: readonly string[]
  /** Whether an invoice of a period could not be collected. */
  readonly owes: boolean
}

export type Subscription = {
  readonly id: string
  readonly state: BillingState
  /** Null: a plan that is not ours. */
  readonly planId: string | null
  /** It ends with the period that is paid. */
  readonly isEnding: boolean
  readonly trialEndsAt: Date | null
  readonly endedAt: Date | null
}

/** What is due for a period beside the price of the plan. */
export type Bill = {
  readonly periodId: number
  readonly organizationId: OrganizationId
  readonly customerId: string
  readonly currency: string
  readonly start: Date
  readonly end: Date
  readonly lines: readonly BillLine[]
}

export type BillLine = {
  /** Unique within the bill. */
  readonly key: string
  readonly description: string
  readonly cents: number
}

/** A hint that something about a customer has changed. */
export type ProviderEvent = {
  readonly id: string
  readonly type: string
  readonly customerId: string
}

export type Headers = Readonly<Record<string, string | string[] | undefined>>

/** Callers may see the message; the cause is for the log. */
export class PaymentError extends Error {
  override name = 'PaymentError'
  /** The same call may succeed later. */
  readonly retryable: boolean

  constructor(message: string, options: ErrorOptions & { readonly retryable: boolean }) {
    super(message, options)
    this.retryable = options.retryable
  }
}

/** A notification that the provider did not send, or not lately. */
export class ForgedEvent extends Error {
  override name = 'ForgedEvent'
}
