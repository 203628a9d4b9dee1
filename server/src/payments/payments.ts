import type { Config } from '../config.ts'
import { createNoPayments } from './none.ts'
import type { PaymentProvider } from './provider.ts'
import { createStripe } from './stripe/provider.ts'

/** The payment provider of the configuration. */
export function createPayments({ stripe }: Pick<Config, 'stripe'>): PaymentProvider {
  return stripe === null ? createNoPayments() : createStripe(stripe)
}
