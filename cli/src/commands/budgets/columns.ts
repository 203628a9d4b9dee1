import type { Budget, BudgetScope } from '@computer/sdk'
import type { Columns } from '../../output.ts'
import { formatAge } from '../../text.ts'
import { formatCents } from '../billing/quantities.ts'

export const budgetColumns: Columns<Budget> = {
  name: ({ name }) => name,
  scope: ({ scope }) => describeScope(scope),
  used: (budget) => formatAmount(budget, budget.used),
  limit: (budget) => formatAmount(budget, budget.limit.value),
  window: ({ window }) => window,
  action: ({ action }) => action,
  exhausts: ({ exhausted, exhaustsAt }) => (exhausted ? 'used up' : exhaustsAt),
  id: ({ id }) => id,
}

export const budgetLines: Columns<Budget> = {
  ...budgetColumns,
  remaining: (budget) => formatAmount(budget, budget.remaining),
  'window start': ({ windowStart }) => windowStart,
  'window end': ({ windowEnd }) => windowEnd,
  thresholds: ({ thresholds }) => thresholds.map((percent) => `${percent} %`).join(', '),
  'minimum run': ({ minimumRunSeconds }) => `${minimumRunSeconds} s`,
  created: ({ createdAt }) => formatAge(createdAt),
}

function describeScope({ apiKeyId, machineId, label }: BudgetScope): string {
  if (label) return `${label.key}=${label.value}`
  return apiKeyId ?? machineId ?? 'organization'
}

function formatAmount({ limit, currency }: Budget, value: string): string {
  return limit.type === 'standard_hours'
    ? `${Number(Number(value).toFixed(3))} standard-hours`
    : formatCents(Math.round(Number(value)), currency)
}
