import type { billing } from '@computer/contract'
import type { App } from '../app.ts'
import type { PeriodRow } from '../db/database.ts'
import { getAccount } from '../domain/billing/account.ts'
import { estimateCost } from '../domain/billing/estimate.ts'
import { getSummary, type Summary } from '../domain/billing/summary.ts'
import { toDecimal, toStandardHours } from '../domain/rating-decimals.ts'
import { unitOf } from '../domain/rating.ts'
import { ApiError } from '../errors.ts'
import { planToWire } from './plans.ts'
import type { Routes } from './route.ts'

export function billingRoutes(app: Pick<App, 'db' | 'config'>): Routes<typeof billing> {
  return {
    async account(actor) {
      const { account, period, plan, limits, largestSize } = await getAccount(app.db, actor)
      return {
        organization_id: account.organization_id,
        state: account.state,
        past_due_since: toTime(account.past_due_since),
        starting_refused_at: toTime(account.starting_refused_at),
        trial_ends_at: toTime(account.trial_ends_at),
        machines_stop_at: toTime(account.machines_stop_at),
        plan: planToWire(plan),
        ...nextPlan(account, period, app.config.signupPlan),
        period_start: period.starts_at.toISOString(),
        period_end: period.ends_at.toISOString(),
        catalog_version: period.catalog_version,
        limits,
        largest_size: largestSize,
        collects_payments: false,
      }
    },
    async summary(actor, { query }) {
      const time = query.period === undefined ? undefined : new Date(query.period)
      return summaryToWire(await getSummary(app.db, actor, time))
    },
    async estimate(actor, { body }) {
      const { compute, hotStorage, period, remaining, includedUntil, ...rest } = await estimateCost(
        app.db,
        actor,
        body,
      )
      const both =
        compute.numerator * hotStorage.denominator + hotStorage.numerator * compute.denominator
      return {
        ...rest,
        compute_cents_per_hour: toDecimal(compute.numerator, compute.denominator),
        hot_storage_cents_per_hour: toDecimal(hotStorage.numerator, hotStorage.denominator),
        cents_per_hour: toDecimal(both, compute.denominator * hotStorage.denominator),
        included_standard_hours: toStandardHours({ included: remaining, used: 0n }).included,
        included_until: includedUntil?.toISOString() ?? null,
        period_end: period.ends_at.toISOString(),
        catalog_version: period.catalog_version,
      }
    },
    checkout: async () => refuseWithoutProvider(),
    portal: async () => refuseWithoutProvider(),
  }
}

/** The plan that follows: the sign-up plan if the current one ends, or else a lower one that waits. */
function nextPlan(
  account: Awaited<ReturnType<typeof getAccount>>['account'],
  period: PeriodRow,
  signupPlan: string,
) {
  const { plan_ends_at: planEnds, next_plan_id: waiting } = account
  const next = planEnds === null ? waiting : signupPlan
  if (next === null || next === period.plan_id) return { next_plan_id: null, next_plan_at: null }
  return { next_plan_id: next, next_plan_at: (planEnds ?? period.ends_at).toISOString() }
}

function toTime(time: Date | null): string | null {
  return time?.toISOString() ?? null
}

function refuseWithoutProvider(): never {
  throw new ApiError(
    'unsupported_operation',
    'this server has no payment provider; ask its operator to change the plan',
  )
}

function summaryToWire(summary: Summary) {
  const { period, lines, credits, totalCents, adjustments, currency } = summary
  return {
    status: period.status === 'final' ? ('final' as const) : ('estimate' as const),
    plan_id: period.plan_id,
    catalog_version: period.catalog_version,
    period_start: period.starts_at.toISOString(),
    period_end: period.ends_at.toISOString(),
    lines: lines.map(({ meter, quantity, included, billable, amountCents }) => ({
      meter,
      unit: unitOf(meter),
      quantity: String(quantity),
      included: String(included),
      billable: String(billable),
      amount_cents: Number(amountCents),
      currency,
    })),
    compute_credits: toStandardHours(credits),
    adjustments: adjustments.map(({ amount_cents, reason, created_at, ...adjustment }) => ({
      amount_cents,
      currency: adjustment.currency,
      reason,
      created_at: created_at.toISOString(),
    })),
    total_cents: Number(totalCents),
    currency,
  }
}
