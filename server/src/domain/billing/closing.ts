import { sql } from 'kysely'
import type { Database, PeriodRow, Tx } from '../../db/database.ts'
import { forEachOf, lockAccount } from '../accounts/periods.ts'
import { sumAdjustments } from './adjustments.ts'
import { beginCharge } from './charges.ts'
import { summarize } from './summary.ts'

/**
 * Stores the lines of up to a hundred periods that ended long enough ago, the oldest first, and makes them
 * final. From then on their summary is read from these lines, and nothing changes it.
 */
export async function closePeriods(db: Database): Promise<void> {
  const due = await db
    .selectFrom('billing_periods')
    .selectAll()
    .where('status', '=', 'closing')
    .where('closes_at', '<=', sql<Date>`now()`)
    .orderBy('closes_at')
    .limit(100)
    .execute()
  await forEachOf(due, (period) => db.transaction().execute((tx) => closePeriod(tx, period)))
}

async function closePeriod(tx: Tx, period: PeriodRow): Promise<void> {
  const account = await lockAccount(tx, period.organization_id)
  const closed = await tx
    .updateTable('billing_periods')
    .set({ status: 'final', closed_at: sql`clock_timestamp()` })
    .where('id', '=', period.id)
    .where('status', '=', 'closing')
    .returning('id')
    .executeTakeFirst()
  // Another worker was faster.
  if (!closed) return
  const { lines, currency, adjustments } = await summarize(tx, period)
  await tx
    .updateTable('billing_periods')
    .set({ adjustments_cents: String(sumAdjustments(adjustments)) })
    .where('id', '=', period.id)
    .execute()
  await tx
    .insertInto('billing_lines')
    .values(
      lines.map((line, position) => ({
        period_id: period.id,
        meter: line.meter,
        position,
        quantity: String(line.quantity),
        included: String(line.included),
        billable: String(line.billable),
        amount_cents: String(line.amountCents),
        currency,
      })),
    )
    .execute()
  await beginCharge(tx, account, period)
}
