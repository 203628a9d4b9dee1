import type { OrganizationId } from '@computer/contract'
import type { App } from '../../app.ts'
import { adjustBill } from '../../domain/billing/adjustments.ts'
import { listOrganizationIds } from '../../domain/billing/periods.ts'
import { verifyPeriods, type Difference } from '../../domain/billing/verification.ts'
import type { Operator } from '../../domain/operator/users.ts'
import type { AdminAnswer } from './request.ts'

/** Throws if anything differs, so that a script sees it. */
export async function verifyBilling(
  { db }: Pick<App, 'db'>,
  { organizationId }: { readonly organizationId: OrganizationId | null },
): Promise<AdminAnswer> {
  const ids = organizationId === null ? await listOrganizationIds(db) : [organizationId]
  let periods = 0
  const differences: Difference[] = []
  for (const id of ids) {
    const verified = await verifyPeriods(db, id)
    periods += verified.periods
    differences.push(...verified.differences)
  }
  if (differences.length > 0) {
    throw new Error(`the events do not give what is billed:\n${differences.map(show).join('\n')}`)
  }
  const counted = { organizations: ids.length, periods }
  const text = `${periods} ended periods of ${ids.length} organizations are as their events say`
  return { json: { ...counted, differences: 0 }, text }
}

export async function adjust(
  app: Pick<App, 'db'>,
  operator: Operator,
  request: {
    readonly organizationId: OrganizationId
    readonly cents: number
    readonly reason: string
  },
): Promise<AdminAnswer> {
  const { organizationId, cents, reason } = request
  const { adjustment, period } = await adjustBill(app, operator, organizationId, { cents, reason })
  const { currency, created_at } = adjustment
  const [start, end] = [period.starts_at, period.ends_at]
  return {
    json: {
      organization_id: organizationId,
      amount_cents: cents,
      currency,
      reason,
      created_at,
      period_start: start,
      period_end: end,
    },
    text: `the bill of ${organizationId} for ${start.toISOString()} to ${end.toISOString()} is changed by ${(cents / 100).toFixed(2)} ${currency.toUpperCase()}`,
  }
}

function show(difference: Difference): string {
  const { organizationId, periodStart, meter, field, billed, recomputed } = difference
  const place = `${organizationId}, period of ${periodStart.toISOString()}, ${meter}`
  return `  ${place}: ${field} ${billed}, by the events ${recomputed}`
}
