import type { budgets } from '@computer/contract'
import type { App } from '../app.ts'
import {
  createBudget,
  deleteBudget,
  getBudget,
  listBudgets,
  updateBudget,
} from '../domain/budgets/budgets.ts'
import { isExhausted, reachesAt } from '../domain/budgets/measure.ts'
import { scopeOf } from '../domain/budgets/scope.ts'
import type { MeasuredBudget } from '../domain/budgets/use.ts'
import { toDecimal } from '../domain/rating-decimals.ts'
import type { Routes } from './route.ts'
import { pageToWire, rowToWire } from './to-wire.ts'

export function budgetRoutes(app: Pick<App, 'db'>): Routes<typeof budgets> {
  return {
    list: async (actor, { query }) =>
      pageToWire(await listBudgets(app.db, actor, query), budgetToWire),
    create: async (actor, { body, newId }) =>
      budgetToWire(await createBudget(app, actor, newId('bud'), body)),
    get: async (actor, { params }) =>
      budgetToWire(await getBudget(app.db, actor, params.budget_id)),
    update: async (actor, { params, body }) =>
      budgetToWire(await updateBudget(app, actor, params.budget_id, body)),
    delete: async (actor, { params }) => {
      await deleteBudget(app, actor, params.budget_id)
    },
  }
}

function budgetToWire(budget: MeasuredBudget) {
  const { measure, now, window_end: end, limit_type: type, limit_micros: limit } = budget
  const exhaustsAt = reachesAt(measure, now)
  // What remains is the difference of the two that are shown, so that a reader can check it.
  const used = toMicros(measure.used, measure.scale)
  const remaining = BigInt(limit) > used ? BigInt(limit) - used : 0n
  return {
    ...rowToWire(budget),
    scope: scopeOf(budget),
    limit: { type, value: withoutZeros(toDecimal(BigInt(limit), micros)) },
    used: toDecimal(used, micros),
    remaining: toDecimal(remaining, micros),
    exhausts_at: exhaustsAt && (!end || exhaustsAt < end) ? exhaustsAt.toISOString() : null,
    exhausted: isExhausted(measure),
  }
}

const micros = 1_000_000n

function toMicros(units: bigint, scale: bigint): bigint {
  return (units * micros) / scale
}

function withoutZeros(decimal: string): string {
  return decimal.replace(/\.?0+$/, '')
}
