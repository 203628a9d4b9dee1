import { sql } from 'kysely'
import type { Database, PeriodRow, Tx } from '../../db/database.ts'
import type { Bill, BillLine } from '../../payments/provider.ts'
import { anyLocked, inMs } from '../claims.ts'
import type { lockAccount } from '../accounts/periods.ts'
import { listAdjustments } from './adjustments.ts'

/*
 * What is due for a final period beside the price of the plan, and how far its collection is. The state in
 * the period's row says which step is next (worker/charges.ts); each step may be done again.
 */

/** Longer than the calls of one step last. */
const claimedFor = sql`interval '3 minutes'`

/**
 * Decides in the transaction that makes a period final whether it is charged: if anything is due, and if the
 * organization had a subscription in the period. Without one, nobody agreed to pay.
 */
export async function beginCharge(
  tx: Tx,
  account: Pick<
    Awaited<ReturnType<typeof lockAccount>>,
    'subscription_id' | 'subscription_ended_at'
  >,
  period: Pick<PeriodRow, 'id' | 'starts_at'>,
): Promise<void> {
  const { subscription_id: subscription, subscription_ended_at: endedAt } = account
  const hadSubscription = subscription !== null && (endedAt === null || endedAt > period.starts_at)
  const isDue = hadSubscription && (await readLines(tx, period.id)).length > 0
  await tx
    .updateTable('billing_periods')
    .set({
      invoice_state: isDue ? 'due' : 'none',
      invoice_next_attempt_at: isDue ? sql`clock_timestamp()` : null,
    })
    .where('id', '=', period.id)
    .execute()
}

/** Claims the period whose next step has been due longest; other workers skip it until the claim expires. */
export async function claimCharge(db: Database): Promise<PeriodRow | undefined> {
  const due = db
    .selectFrom('billing_periods')
    .select('id')
    .where('invoice_state', 'in', ['due', 'drafted', 'filled'])
    .where('invoice_next_attempt_at', '<=', sql<Date>`clock_timestamp()`)
    .orderBy('invoice_next_attempt_at')
  return db
    .updateTable('billing_periods')
    .set({
      invoice_attempts: sql`invoice_attempts + 1`,
      invoice_next_attempt_at: sql`clock_timestamp() + ${claimedFor}`,
    })
    .where('id', '=', anyLocked(due, 'billing_periods', 1))
    .returningAll()
    .executeTakeFirst()
}

/** What is due for a final period. It never changes. */
export async function readBill(db: Database, period: PeriodRow): Promise<Bill> {
  const { customer_id: customerId } = await db
    .selectFrom('billing_accounts')
    .select('customer_id')
    .where('organization_id', '=', period.organization_id)
    .executeTakeFirstOrThrow()
  const lines = await readLines(db, period.id)
  if (customerId === null || lines.length === 0) {
    throw new Error(`billing period ${period.id} has nothing to charge, or nobody to pay`)
  }
  return {
    periodId: period.id,
    organizationId: period.organization_id,
    customerId,
    currency: lines[0]!.currency,
    start: period.starts_at,
    end: period.ends_at,
    lines,
  }
}

/** Records that a step is done. Returns the row, or nothing if another worker was faster. */
export async function recordStep(
  db: Database,
  period: PeriodRow,
  step: {
    readonly state: 'drafted' | 'filled' | 'sent'
    readonly invoiceId: string
  },
): Promise<PeriodRow | undefined> {
  return db
    .updateTable('billing_periods')
    .set({
      invoice_state: step.state,
      invoice_id: step.invoiceId,
      invoice_error: null,
      ...(step.state === 'sent' && { invoice_next_attempt_at: null }),
    })
    .where('id', '=', period.id)
    .where('invoice_state', '=', period.invoice_state)
    .returningAll()
    .executeTakeFirst()
}

/** Schedules another try of the step. */
export async function postponeCharge(
  db: Database,
  period: PeriodRow,
  { reason, delayMs }: { readonly reason: string; readonly delayMs: number },
): Promise<void> {
  await db
    .updateTable('billing_periods')
    .set({ invoice_error: reason, invoice_next_attempt_at: inMs(delayMs) })
    .where('id', '=', period.id)
    .where('invoice_state', '=', period.invoice_state)
    .execute()
}

type PricedLine = BillLine & { readonly currency: string }

/** The lines of use that cost something, and the adjustments. */
async function readLines(db: Database, periodId: number): Promise<readonly PricedLine[]> {
  const rows = await db
    .selectFrom('billing_lines')
    .select(['meter', 'billable', 'amount_cents', 'currency'])
    .where('period_id', '=', periodId)
    .where('amount_cents', '!=', '0')
    .orderBy('position')
    .execute()
  const used = rows.map(({ meter, billable, amount_cents: cents, currency }) => ({
    key: meter,
    description: describeLine(meter, BigInt(billable)),
    cents: Number(cents),
    currency,
  }))
  const adjustments = await listAdjustments(db, { id: periodId })
  const corrected = adjustments.map(({ id, amount_cents: cents, currency, reason }) => ({
    key: `adjustment_${id}`,
    description: reason,
    cents,
    currency,
  }))
  return [...used, ...corrected]
}

const words: Readonly<Record<string, string>> = {
  compute_small_seconds: 'Small machines',
  compute_standard_seconds: 'Standard machines',
  compute_large_seconds: 'Large machines',
  hot_storage_byte_seconds: 'Disks of machines',
  cold_storage_byte_seconds: 'Snapshots and templates',
  egress_bytes: 'Traffic to viewers',
}

/** Such as `Standard machines: 130.0 hours beyond what is included`. */
function describeLine(meter: string, billable: bigint): string {
  return `${words[meter] ?? meter}: ${amountOf(meter, billable)} beyond what is included`
}

function amountOf(meter: string, billable: bigint): string {
  if (meter.endsWith('_byte_seconds')) {
    return `${tenths(billable, 3600n * 2n ** 30n)} GiB-hours`
  }
  if (meter.endsWith('_seconds')) return `${tenths(billable, 3600n)} hours`
  return `${tenths(billable, 2n ** 30n)} GiB`
}

function tenths(quantity: bigint, unit: bigint): string {
  const value = (quantity * 10n) / unit
  return `${value / 10n}.${value % 10n}`
}
