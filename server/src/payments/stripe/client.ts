import type Stripe from 'stripe'
import { PaymentError } from '../provider.ts'

export type { Stripe }

export type StripeConfig = {
  readonly secretKey: string
  readonly webhookSecret: string
  /** Null: Stripe's own. */
  readonly apiUrl: string | null
}

/** With the SDK's repetitions, one call lasts half a minute at most. */
const timeoutMs = 10_000
const retries = 2

/** The version of the API that the types of the package describe. */
const apiVersion = '2026-10-28.endive'

/** Loads the package, which takes a while and 20 MB: servers without Stripe never do. */
export async function openClient({ secretKey, apiUrl }: StripeConfig): Promise<Stripe> {
  const { default: StripeClient } = await import('stripe')
  const address = apiUrl === null ? null : new URL(apiUrl)
  return new StripeClient(secretKey, {
    apiVersion,
    timeout: timeoutMs,
    maxNetworkRetries: retries,
    telemetry: false,
    ...(address && {
      host: address.hostname,
      protocol: address.protocol === 'http:' ? 'http' : 'https',
      port: address.port || (address.protocol === 'http:' ? 80 : 443),
    }),
  })
}

/** The failure of a call, without what Stripe says about it: that may contain parts of keys. */
export function toPaymentError(error: unknown): PaymentError {
  if (error instanceof PaymentError) return error
  const { type, statusCode = 0 } = error as Partial<Stripe.errors.StripeError>
  const isPassing =
    type === 'StripeConnectionError' ||
    statusCode === 409 ||
    statusCode === 429 ||
    statusCode >= 500
  return isPassing
    ? new PaymentError('the payment provider does not respond; try again shortly', {
        cause: error,
        retryable: true,
      })
    : new PaymentError(
        'the payment provider refused the call; the operator of this server finds the reason in its log',
        { cause: error, retryable: false },
      )
}

/** Whether Stripe has no such object (any more). */
export function isMissing(error: unknown): boolean {
  return (error as Partial<Stripe.errors.StripeError>).code === 'resource_missing'
}

/** The id of an object that Stripe may have sent whole. */
export function idOf(value: string | { readonly id: string } | null | undefined): string | null {
  return typeof value === 'string' ? value : (value?.id ?? null)
}
