import type { OrganizationId } from '@computer/contract'
import type { Selectable } from 'kysely'
import type { App } from '../../app.ts'
import type { Database, PeriodRow, Schema } from '../../db/database.ts'
import { notFound } from '../../errors.ts'
import { lockOrganization } from '../accounts/organizations.ts'
import { noteAudit } from '../accounts/audit-events.ts'
import { findOpenPeriod, rollPeriod } from '../accounts/periods.ts'
import { getPlan } from './catalog.ts'

export type Adjustment = Selectable<Schema['billing_adjustments']>

/**
 * Corrects the bill of an organization by an amount, in its open period. Neither an adjustment nor a period
 * that has ended ever changes, so a wrong one is corrected by another.
 */
export async function adjustBill(
  app: Pick<App, 'db'>,
  operator: NonNullable<Parameters<typeof noteAudit>[1]['actor']>,
  organizationId: OrganizationId,
  input: { readonly cents: number; readonly reason: string },
): Promise<{ readonly adjustment: Adjustment; readonly period: PeriodRow }> {
  const { cents, reason } = input
  return app.db.transaction().execute(async (tx) => {
    await lockOrganization(tx, { organizationId })
    const organization = await tx
      .selectFrom('organizations')
      .select('name')
      .where('id', '=', organizationId)
      .executeTakeFirst()
    if (!organization) throw notFound(`organization ${organizationId}`)
    await rollPeriod(tx, organizationId)
    const period = await findOpenPeriod(tx, organizationId)
    const { currency } = await getPlan(tx, period.catalog_version, period.plan_id)
    const adjustment = await tx
      .insertInto('billing_adjustments')
      .values({
        period_id: period.id,
        amount_cents: cents,
        currency,
        reason,
        operator: operator.name,
      })
      .returningAll()
      .executeTakeFirstOrThrow()
    await noteAudit(tx, {
      organizationId,
      type: 'organization.bill_adjusted',
      actor: operator,
      address: null,
      target: { type: 'organization', id: organizationId, name: organization.name },
      message: `by ${cents} cents (${currency}): ${reason}`,
    })
    return { adjustment, period }
  })
}

/** The adjustments of a period, the oldest first. */
export async function listAdjustments(
  db: Database,
  { id }: Pick<PeriodRow, 'id'>,
): Promise<Adjustment[]> {
  return db
    .selectFrom('billing_adjustments')
    .selectAll()
    .where('period_id', '=', id)
    .orderBy('id')
    .execute()
}

/** The sum of adjustments, in cents. */
export function sumAdjustments(adjustments: readonly Adjustment[]): bigint {
  return adjustments.reduce((sum, { amount_cents }) => sum + BigInt(amount_cents), 0n)
}
