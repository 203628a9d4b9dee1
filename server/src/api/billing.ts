import type { billing } from '@computer/contract'
import type { App } from '../app.ts'
import { getAccount } from '../domain/billing/account.ts'
import { estimateCost } from '../domain/billing/estimate.ts'
import { getSummary, type Summary } from '../domain/billing/summary.ts'
import { toDecimal, toStandardHours } from '../domain/rating-decimals.ts'
import { unitOf } from '../domain/rating.ts'
import { ApiError } from '../errors.ts'
import { planToWire } from './plans.ts'
import type { Routes } from './route.ts'

export function billingRoutes(app: Pick<App, 'db'>): Routes<typeof billing> {
  return {
    async account(actor) {
      const { period, plan, ...account } = await getAccount(app.db, actor)
      return {
        organization_id: account.organizationId,
        state: account.state,
        plan: planToWire(plan),
        next_plan_id: account.nextPlanId,
        period_start: period.starts_at.toISOString(),
        period_end: period.ends_at.toISOString(),
        catalog_version: period.catalog_version,
        limits: account.limits,
        largest_size: account.largestSize,
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

function refuseWithoutProvider(): never {
  throw new ApiError(
    'unsupported_operation',
    'this server has no payment provider; ask its operator to change the plan',
  )
}

function summaryToWire({ period, lines, credits, totalCents, currency }: Summary) {
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
    total_cents: Number(totalCents),
    currency,
  }
}
