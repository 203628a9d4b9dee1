import type { billing } from '@computer/contract'
import type { App } from '../app.ts'
import type { PeriodRow } from '../db/database.ts'
import { getAccount } from '../domain/billing/account.ts'
import { choosePlan, openPortal, requireProvider } from '../domain/billing/checkout.ts'
import { estimateCost } from '../domain/billing/estimate.ts'
import { isSubscribed } from '../domain/billing/subscriptions.ts'
import { getSummary, type Summary } from '../domain/billing/summary.ts'
import { toDecimal, toStandardHours } from '../domain/rating-decimals.ts'
import { unitOf } from '../domain/rating.ts'
import { invalid } from '../errors.ts'
import { isRecognisedOrigin } from '../http/origins.ts'
import { planToWire } from './plans.ts'
import type { Routes } from './route.ts'

export function billingRoutes(
  app: Pick<App, 'db' | 'config' | 'log' | 'payments'>,
): Routes<typeof billing> {
  const ownPage = `${app.config.dashboardUrl}/billing`
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
        collects_payments: app.payments.collectsPayments,
        has_subscription: isSubscribed(account),
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
    async checkout(actor, { body, sentTo }) {
      requireProvider(app)
      const { plan_id: planId, success_url: successUrl, cancel_url: cancelUrl = ownPage } = body
      requireOwnPage(app.config, sentTo, { success_url: successUrl })
      if (cancelUrl !== ownPage) requireOwnPage(app.config, sentTo, { cancel_url: cancelUrl })
      return choosePlan(app, actor, { planId, successUrl, cancelUrl })
    },
    async portal(actor, { body, sentTo }) {
      requireProvider(app)
      const { return_url: returnUrl = ownPage } = body
      if (returnUrl !== ownPage) requireOwnPage(app.config, sentTo, { return_url: returnUrl })
      return openPortal(app, actor, returnUrl)
    },
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

/** Refuses an address to which the provider would send the browser, unless it is a page of this service. */
function requireOwnPage(
  config: App['config'],
  sentTo: { readonly protocol: string; readonly host: string },
  page: Readonly<Record<string, string>>,
): void {
  for (const [field, address] of Object.entries(page)) {
    const url = URL.parse(address)
    const isWeb = url !== null && /^https?:$/.test(url.protocol)
    if (isWeb && isRecognisedOrigin(config, url.origin, sentTo)) continue
    const message =
      'must be the address of a page of this service; the operator can name other origins in COMPUTER_ORIGINS'
    throw invalid(`body: ${field}: ${message}`, [{ field, message }])
  }
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
