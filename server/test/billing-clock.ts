import type { OrganizationId } from '@computer/contract'
import { sql } from 'kysely'
import type { Database } from '../src/db/database.ts'

/*
 * Time of an organization's billing. The clock of the database cannot be set, so tests move the rows.
 */

export async function periodsOf(db: Database, organizationId: OrganizationId) {
  return db
    .selectFrom('billing_periods')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .orderBy('starts_at')
    .execute()
}

/** Moves the open period of an organization to other times, as if it had begun and were to end then. */
export async function moveOpenPeriod(
  db: Database,
  organizationId: OrganizationId,
  { start, end }: { readonly start: Date; readonly end: Date },
): Promise<void> {
  await db
    .updateTable('billing_periods')
    .set({ starts_at: start, ends_at: end, has_whole_allowance: false })
    .where('organization_id', '=', organizationId)
    .where('status', '=', 'open')
    .execute()
  await db
    .updateTable('billing_accounts')
    .set({ closed_through: start })
    .where('organization_id', '=', organizationId)
    .execute()
}

/** Lets the wait between the end of a period and its closing be over. */
export async function endWait(db: Database, organizationId: OrganizationId): Promise<void> {
  await db
    .updateTable('billing_periods')
    .set({ closes_at: sql`now()` })
    .where('organization_id', '=', organizationId)
    .where('status', '=', 'closing')
    .execute()
}

/** The first of a month in UTC, relative to the current one. */
export function monthStart(monthsAhead: number, now = new Date()): Date {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + monthsAhead, 1))
}

export function hoursAgo(hours: number, now = Date.now()): Date {
  return new Date(Math.floor(now / 3_600_000) * 3_600_000 - hours * 3_600_000)
}
