import type { Budget, BudgetAction, BudgetLimitType, BudgetWindow } from '@computer/sdk'
import { formatDateTime, formatMoney, formatNumber } from '../../../format.ts'

export const windowWords: Readonly<Record<BudgetWindow, string>> = {
  day: 'Each day',
  week: 'Each week',
  month: 'Each month',
  once: 'Once',
}

export const actionWords: Readonly<Record<BudgetAction, string>> = {
  notify: 'Mail alone',
  refuse: 'Refuse starts',
  stop: 'Refuse starts and stop machines',
}

export const limitWords: Readonly<Record<BudgetLimitType, string>> = {
  list_price_cents: 'Amount at list price',
  standard_hours: 'Standard-hours',
}

/** Such as "$4.20 of $10.00" or "2.5 of 10 standard-hours". */
export function describeUse({ used, limit, currency }: Budget): string {
  return limit.type === 'standard_hours'
    ? `${formatNumber(Number(used))} of ${formatNumber(Number(limit.value))} standard-hours`
    : `${formatMoney(Number(used), currency)} of ${formatMoney(Number(limit.value), currency)}`
}

/** When it is used up, or begins anew. */
export function describeEnd({ exhausted, exhaustsAt, windowEnd }: Budget): string {
  const anew = windowEnd === null ? '' : `begins anew ${formatDateTime(windowEnd)}`
  if (exhausted) return anew ? `Used up, ${anew}` : 'Used up'
  if (exhaustsAt !== null) return `Used up ${formatDateTime(exhaustsAt)} if what runs goes on`
  return anew && `${anew[0]!.toUpperCase()}${anew.slice(1)}`
}

/** The text of the field for a limit: units of the currency, or hours. */
export function limitText({ type, value }: Budget['limit']): string {
  return type === 'standard_hours' ? value : movePoint(value, -2)
}

/** The limit that a text of the field means. The server tells if it is none. */
export function readLimit(type: BudgetLimitType, text: string): Budget['limit'] {
  const value = text.trim()
  return { type, value: type === 'standard_hours' ? value : movePoint(value, 2) }
}

/** Exact, unlike a multiplication. What is no decimal number stays as it is. */
function movePoint(text: string, places: 2 | -2): string {
  const [, whole, fraction = ''] = /^(\d+)(?:\.(\d*))?$/.exec(text) ?? []
  if (whole === undefined) return text
  const digits = whole.padStart(3, '0') + (places === 2 ? fraction.padEnd(2, '0') : fraction)
  const point = whole.padStart(3, '0').length + places
  const rest = digits.slice(point)
  const kept = places === 2 ? rest.replace(/0+$/, '') : rest
  const units = digits.slice(0, point).replace(/^0+(?=\d)/, '')
  return kept ? `${units}.${kept}` : units
}
