import type { Meter, OrganizationId } from '@computer/contract'
import type { Actor } from '../../actor.ts'
import type { Database, PeriodRow } from '../../db/database.ts'
import { usageOf } from '../events/meter-intervals.ts'
import { egressOf } from '../previews/egress.ts'
import { rate, type RatedLine, type Rating, type Tariff, type Usage } from '../rating.ts'
import { listAdjustments, sumAdjustments, type Adjustment } from './adjustments.ts'
import { findPeriod } from './periods.ts'
import { readTariff, type PeriodTariff } from './tariff.ts'

export type Summary = Rating & {
  readonly period: PeriodRow
  readonly tariff: PeriodTariff
  readonly currency: string
  readonly adjustments: readonly Adjustment[]
}

/** What the period that contains a time costs, or else the open one. */
export async function getSummary(
  db: Database,
  actor: Pick<Actor, 'organizationId'>,
  time: Date | undefined,
): Promise<Summary> {
  return summarize(db, await findPeriod(db, actor.organizationId, time))
}

/**
 * Rates a period: a final one from its stored lines, others from what was used so far. The total includes
 * the adjustments.
 */
export async function summarize(db: Database, period: PeriodRow): Promise<Summary> {
  const tariff = await readTariff(db, period)
  const rating = await ratePeriod(db, period, tariff)
  const adjustments = await listAdjustments(db, period)
  const totalCents = rating.totalCents + sumAdjustments(adjustments)
  return { ...rating, totalCents, adjustments, period, tariff, currency: tariff.currency }
}

async function ratePeriod(db: Database, period: PeriodRow, tariff: Tariff): Promise<Rating> {
  if (period.status !== 'final') {
    const usage = await readUsage(db, period.organization_id, period)
    return rate(tariff, usage)
  }
  const lines = await readLines(db, period)
  const usage = new Map(lines.map(({ meter, quantity }) => [meter, quantity]))
  const totalCents = lines.reduce((sum, { amountCents }) => sum + amountCents, 0n)
  return { ...rate(tariff, usage), lines, totalCents }
}

/** Everything that an organization used in a period. */
export async function readUsage(
  db: Database,
  organizationId: OrganizationId,
  { starts_at: start, ends_at: end }: Pick<PeriodRow, 'starts_at' | 'ends_at'>,
): Promise<Usage> {
  const usage = await usageOf(db, organizationId, { start, end })
  const egress = await egressOf(db, organizationId, { start, end })
  return new Map<Meter, bigint>([...usage, ['egress_bytes', egress]])
}

async function readLines(db: Database, { id }: PeriodRow): Promise<RatedLine[]> {
  const rows = await db
    .selectFrom('billing_lines')
    .selectAll()
    .where('period_id', '=', id)
    .orderBy('position')
    .execute()
  return rows.map((row) => ({
    meter: row.meter as Meter,
    quantity: BigInt(row.quantity),
    included: BigInt(row.included),
    billable: BigInt(row.billable),
    amountCents: BigInt(row.amount_cents),
  }))
}
