import type { BudgetLimitType, BudgetWindow } from '@computer/contract'
import type { BudgetRow } from '../../db/database.ts'
import { oneLine } from '../accounts/mails.ts'
import { toDecimal } from '../rating-decimals.ts'
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

/** Such as `9.5 of 10 standard-hours of this day`. */
export function describeUse(budget: MeasuredBudget): string {
  const { measure, currency, limit_type: type, window } = budget
  const [used, limit] = [measure.used, measure.limit].map((units) =>
    amount(type, units, measure.scale),
  )
  return `${used} of ${limit} ${unitOf(type, currency)} of ${windowWords[window]}`
}

/** Such as `its next day begins at 2030-01-01T00:00:00.000Z`. */
export function describeEnd({ window, window_end: end }: MeasuredBudget): string {
  return end ? `its next ${window} begins at ${end.toISOString()}` : 'it does not begin anew'
}

/** Amounts in whole currency units, as people read them; hours without zeros at the end. */
function amount(type: BudgetLimitType, units: bigint, scale: bigint): string {
  const divisor = type === 'standard_hours' ? scale : scale * 100n
  const [whole, fraction = ''] = toDecimal(units, divisor).split('.')
  const least = type === 'standard_hours' ? 0 : 2
  const digits = fraction.replace(/0+$/, '').padEnd(least, '0').slice(0, Math.max(least, 3))
  return digits ? `${whole}.${digits}` : whole!
}

function unitOf(type: BudgetLimitType, currency: string): string {
  return type === 'standard_hours' ? 'standard-hours' : `${currency.toUpperCase()} at list price`
}
