import type { BudgetWindow } from '@computer/contract'
import type { BudgetRow } from '../../db/database.ts'
import { oneLine } from '../accounts/mails.ts'
import { toRounded } from '../rating-decimals.ts'
import type { MeasuredBudget } from './use.ts'

/* How budgets are named in errors, events and mails. */

const windowWords: Readonly<Record<BudgetWindow, string>> = {
  day: 'this day',
  week: 'this week',
  month: 'this month',
  once: 'this budget',
}

/** Such as `budget "nightly agents" (bud_…)`. */
export function nameBudget({ id, name }: Pick<BudgetRow, 'id' | 'name'>): string {
  return `budget "${oneLine(name)}" (${id})`
}

/** Such as `9.5 of 10 standard-hours of this day`, or `0.50 of 10.00 USD at list price of this week`. */
export function describeUse(budget: MeasuredBudget): string {
  const { measure, currency, limit_type: type, window } = budget
  const isHours = type === 'standard_hours'
  const divisor = isHours ? measure.scale : measure.scale * 100n
  const least = isHours ? 0 : 2
  const limit = trim(toRounded(measure.limit, divisor, 8), least, 8)
  // As exact as the limit, so that what is used up does not look like less.
  const used = trim(toRounded(measure.used, divisor, 8), least, Math.max(3, decimalsOf(limit)))
  const unit = isHours ? 'standard-hours' : `${currency.toUpperCase()} at list price`
  return `${used} of ${limit} ${unit} of ${windowWords[window]}`
}

/** Such as `its next day begins at 2030-01-01T00:00:00.000Z`. */
export function describeEnd({ window, window_end: end }: MeasuredBudget): string {
  return end ? `its next ${window} begins at ${end.toISOString()}` : 'it does not begin anew'
}

/** A decimal without zeros at its end, but for the least number of decimals. */
function trim(decimal: string, least: number, most: number): string {
  const [whole, fraction = ''] = decimal.split('.')
  const kept = fraction.slice(0, most).replace(/0+$/, '').padEnd(least, '0')
  return kept ? `${whole}.${kept}` : whole!
}

function decimalsOf(decimal: string): number {
  return decimal.split('.')[1]?.length ?? 0
}
