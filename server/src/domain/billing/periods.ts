import type { OrganizationId } from '@computer/contract'
import type { Database, PeriodRow } from '../../db/database.ts'
import { notFound } from '../../errors.ts'
import { getPeriod } from '../accounts/periods.ts'

/** The period that contains a time, or else the open one. */
export async function findPeriod(
  db: Database,
  organizationId: OrganizationId,
  time: Date | undefined,
): Promise<PeriodRow> {
  // Opens the period of today first, if no worker has yet.
  const open = await getPeriod(db, organizationId)
  if (time === undefined) return open
  const period = await db
    .selectFrom('billing_periods')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('starts_at', '<=', time)
    .where('ends_at', '>', time)
    .executeTakeFirst()
  if (!period) throw notFound(`billing period at ${time.toISOString()}`)
  return period
}

/** Every organization that has or had an account, the oldest first. */
export async function listOrganizationIds(db: Database): Promise<OrganizationId[]> {
  const rows = await db
    .selectFrom('billing_accounts')
    .select('organization_id')
    .orderBy('organization_id')
    .execute()
  return rows.map((row) => row.organization_id)
}
