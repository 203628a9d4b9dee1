import { ApiError, type BudgetLimit } from '@computer/sdk'
import { InvalidArgumentError } from '@commander-js/extra-typings'

type LimitFlags = { readonly amount?: string | undefined; readonly hours?: string | undefined }

export const amountHelp = 'at most this much at list price, such as 10.00'
export const hoursHelp = 'at most this many standard-hours of compute'
export const actionHelp = 'when nothing is left: notify, refuse starts, or stop what runs too'
export const thresholdHelp = 'percentages at which owners get a mail, such as 50 80 100'

/** The limit that the flags give, if they give one. */
export function readLimit({ amount, hours }: LimitFlags): BudgetLimit | undefined {
  if (amount !== undefined && hours !== undefined) {
    throw new ApiError('invalid_request', 'give either --amount or --hours')
  }
  if (hours !== undefined) return { type: 'standard_hours', value: hours }
  return amount === undefined ? undefined : { type: 'list_price_cents', value: toCents(amount) }
}

export function parsePercents(text: string, before: readonly number[] = []): number[] {
  const percent = Number(text)
  if (!Number.isInteger(percent)) throw new InvalidArgumentError('Expected a whole percentage.')
  return [...before, percent]
}

/** Moves the point, so that no digit is lost. */
function toCents(amount: string): string {
  const [, whole, fraction = ''] = /^(\d+)(?:\.(\d+))?$/.exec(amount) ?? []
  if (whole === undefined) {
    throw new ApiError('invalid_request', `"${amount}" is no amount, such as 10.00`)
  }
  const digits = fraction.padEnd(2, '0')
  const rest = digits.slice(2).replace(/0+$/, '')
  const cents = `${whole}${digits.slice(0, 2)}`.replace(/^0+(?=\d)/, '')
  return rest ? `${cents}.${rest}` : cents
}
