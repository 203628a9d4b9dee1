import { PaymentError, type PaymentProvider } from './provider.ts'

/** No provider: nothing is collected, and the operator sets the plans. */
export function createNoPayments(): PaymentProvider {
  return {
    collectsPayments: false,
    openCustomer: refuse,
    checkout: refuse,
    endCheckout: refuse,
    changeSubscription: refuse,
    cancelSubscription: refuse,
    portal: refuse,
    readCustomer: async () => ({ subscription: null, otherSubscriptionIds: [], owes: false }),
    charge: { draft: refuse, fill: refuse, send: refuse },
    verify: refuse,
  }
}

async function refuse(): Promise<never> {
  throw new PaymentError(
    'this server has no payment provider; ask its operator to change the plan',
    { retryable: false },
  )
}
