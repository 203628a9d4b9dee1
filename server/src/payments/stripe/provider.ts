import type { PaymentProvider } from '../provider.ts'
import { endCheckout, openCheckout, openCustomer, openPortal } from './checkout.ts'
import { openClient, toPaymentError, type Stripe, type StripeConfig } from './client.ts'
import { draftInvoice, fillInvoice, sendInvoice } from './invoices.ts'
import { cancelSubscription, changeSubscription, readCustomer } from './subscriptions.ts'
import { verifyEvent } from './webhooks.ts'

/** Stripe, whose package is loaded with the first call. */
export function createStripe(config: StripeConfig): PaymentProvider {
  let opening: Promise<Stripe> | undefined
  const call = async <T>(work: (stripe: Stripe) => Promise<T>): Promise<T> => {
    opening ??= openClient(config)
    const stripe = await opening
    try {
      return await work(stripe)
    } catch (error) {
      throw toPaymentError(error)
    }
  }
  return {
    collectsPayments: true,
    openCustomer: (customer) => call((stripe) => openCustomer(stripe, customer)),
    checkout: (order) => call((stripe) => openCheckout(stripe, order)),
    endCheckout: (id) => call((stripe) => endCheckout(stripe, id)),
    changeSubscription: (change) => call((stripe) => changeSubscription(stripe, change)),
    cancelSubscription: (id) => call((stripe) => cancelSubscription(stripe, id)),
    portal: (customerId, url) => call((stripe) => openPortal(stripe, customerId, url)),
    readCustomer: (id) => call((stripe) => readCustomer(stripe, id)),
    charge: {
      draft: (bill) => call((stripe) => draftInvoice(stripe, bill)),
      fill: (invoiceId, bill) => call((stripe) => fillInvoice(stripe, invoiceId, bill)),
      send: (invoiceId, bill) => call((stripe) => sendInvoice(stripe, invoiceId, bill)),
    },
    async verify(body, headers) {
      opening ??= openClient(config)
      return verifyEvent(await opening, config.webhookSecret, body, headers)
    },
  }
}
