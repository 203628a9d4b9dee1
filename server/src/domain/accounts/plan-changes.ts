import type { OrganizationId } from '@computer/contract'
import { isDeepStrictEqual } from 'node:util'
import type { Database, PeriodRow, Tx } from '../../db/database.ts'
import type { Terms } from '../../db/tables/billing.ts'
import { startOfHour } from '../calendar.ts'
import {
  checkFrom,
  endPeriod,
  findOpenPeriod,
  lockAccount,
  openPeriod,
  rollPeriod,
  updateAccount,
  versionFor,
} from './periods.ts'
import { currentVersion } from './plans.ts'

/**
 * Changes the plan of an organization, and the terms agreed with it. A change to a lower plan waits for the
 * end of the period unless it is `immediate`; every other takes effect at once, and replaces one that
 * waits. Returns when it takes effect.
 */
export async function changePlan(
  tx: Tx,
  organizationId: OrganizationId,
  change: { readonly planId: string; readonly terms: Terms; readonly immediate: boolean },
): Promise<{ readonly from: string; readonly effectiveAt: Date | null }> {
  const { planId, terms, immediate } = change
  await rollPeriod(tx, organizationId)
  const period = await findOpenPeriod(tx, organizationId)
  const from = period.plan_id
  await dropWaitingChange(tx, period)
  if (!immediate && (await isLower(tx, planId, from))) {
    await updateAccount(tx, organizationId, { next_plan_id: planId })
    await storeTerms(tx, organizationId, period.ends_at, terms)
    return { from, effectiveAt: period.ends_at }
  }
  if (planId === from && isDeepStrictEqual(terms, period.terms)) return { from, effectiveAt: null }
  const hour = startOfHour(period.now)
  if (period.starts_at >= hour) await replacePlan(tx, period, change)
  else {
    await endPeriod(tx, period, hour)
    await openPeriod(tx, { organizationId, planId, terms, start: hour })
  }
  await storeTerms(tx, organizationId, period.starts_at >= hour ? period.starts_at : hour, terms)
  return { from, effectiveAt: null }
}

/** A period that began in this hour cannot be cut: its hour would have no length. */
async function replacePlan(
  tx: Tx,
  period: PeriodRow,
  { planId, terms }: { readonly planId: string; readonly terms: Terms },
): Promise<void> {
  await tx
    .updateTable('billing_periods')
    .set({
      plan_id: planId,
      catalog_version: versionFor(planId, period.starts_at),
      compute_check_at: checkFrom(planId, period.starts_at),
      terms: JSON.stringify(terms) as never,
    })
    .where('id', '=', period.id)
    .execute()
}

/** The plan of the open period goes on after its end. */
export async function dropWaitingChange(
  tx: Tx,
  period: Pick<PeriodRow, 'organization_id'> & { readonly now: Date },
): Promise<void> {
  const organizationId = period.organization_id
  await lockAccount(tx, organizationId)
  await updateAccount(tx, organizationId, { next_plan_id: null })
  await tx
    .deleteFrom('organization_terms')
    .where('organization_id', '=', organizationId)
    .where('effective_at', '>', period.now)
    .execute()
}

async function storeTerms(
  tx: Tx,
  organizationId: OrganizationId,
  at: Date,
  terms: Terms,
): Promise<void> {
  const json = JSON.stringify(terms) as never
  await tx
    .insertInto('organization_terms')
    .values({ organization_id: organizationId, effective_at: at, terms: json })
    .onConflict((same) =>
      same.columns(['organization_id', 'effective_at']).doUpdateSet({ terms: json }),
    )
    .execute()
}

/** Whether a plan stands before another in the catalog. One that the catalog has dropped is the lowest. */
export async function isLower(db: Database, planId: string, than: string): Promise<boolean> {
  const plans = await db
    .selectFrom('catalog_plans')
    .select(['id', 'position'])
    .where('catalog_version', '=', currentVersion())
    .execute()
  const positionOf = (id: string) => plans.find((plan) => plan.id === id)?.position ?? 0
  return positionOf(planId) < positionOf(than)
}
