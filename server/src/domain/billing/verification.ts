import type { MachineId, Meter, OrganizationId } from '@computer/contract'
import type { Database, PeriodRow } from '../../db/database.ts'
import { replayMeters, type Interval } from '../events/meter-replay.ts'
import { egressOf } from '../previews/egress.ts'
import { rate, type RatedLine } from '../rating.ts'
import { sumAdjustments } from './adjustments.ts'
import { summarize } from './summary.ts'

export type Difference = {
  readonly organizationId: OrganizationId
  readonly periodStart: Date
  /** Or the adjustments, which are compared with what they came to when the period became final. */
  readonly meter: Meter | 'adjustments'
  readonly field: 'quantity' | 'included' | 'billable' | 'amountCents'
  readonly billed: bigint
  readonly recomputed: bigint
}

/**
 * Rates the ended periods of an organization again, from the log of its machines' events alone, and compares
 * the result with what is billed. A difference means that an interval, a line, an event or an adjustment was lost
 * or changed. With `openUntil`, a past time to the second, the open period is looked at too, as if it had ended then.
 */
export async function verifyPeriods(
  db: Database,
  organizationId: OrganizationId,
  { openUntil }: { readonly openUntil?: Date } = {},
): Promise<{ readonly periods: number; readonly differences: readonly Difference[] }> {
  const periods = await readPeriods(db, organizationId, openUntil)
  const usages = periods.map(() => new Map<Meter, bigint>())
  for await (const interval of replayMachines(db, organizationId)) {
    for (const [index, period] of periods.entries()) addInterval(usages[index]!, interval, period)
  }
  const differences: Difference[] = []
  for (const [index, period] of periods.entries()) {
    const usage = usages[index]!
    const window = { start: period.starts_at, end: period.ends_at }
    usage.set('egress_bytes', await egressOf(db, organizationId, window))
    const { lines: billed, adjustments, tariff } = await summarize(db, period)
    const { lines: recomputed } = rate(tariff, usage)
    differences.push(
      ...compare(period, billed, recomputed),
      ...compareAdjustments(period, sumAdjustments(adjustments)),
    )
  }
  return { periods: periods.length, differences }
}

async function readPeriods(
  db: Database,
  organizationId: OrganizationId,
  openUntil: Date | undefined,
): Promise<PeriodRow[]> {
  const rows = await db
    .selectFrom('billing_periods')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .orderBy('starts_at')
    .execute()
  return rows.flatMap((row) => {
    if (row.status !== 'open') return [row]
    const hasBegun = openUntil !== undefined && openUntil > row.starts_at
    return hasBegun ? [{ ...row, ends_at: openUntil }] : []
  })
}

/** The intervals of all machines that the organization ever had, one machine at a time. */
async function* replayMachines(
  db: Database,
  organizationId: OrganizationId,
): AsyncGenerator<Interval> {
  const machines = await db
    .selectFrom('machines')
    .select('id')
    .where('organization_id', '=', organizationId)
    .execute()
  for (const { id } of machines) yield* replayMeters(await readLog(db, id))
}

async function readLog(db: Database, id: MachineId) {
  return db
    .selectFrom('machine_events')
    .select(['type', 'to_state', 'occurred_at', 'facts'])
    .where('machine_id', '=', id)
    .orderBy('sequence')
    .execute()
}

/** A whole second counts if it begins within both. */
function addInterval(usage: Map<Meter, bigint>, interval: Interval, period: PeriodRow): void {
  const start = Math.max(interval.started_at.getTime(), period.starts_at.getTime())
  const end = Math.min(interval.ended_at?.getTime() ?? Infinity, period.ends_at.getTime())
  const seconds = Math.ceil(end / 1000) - Math.ceil(start / 1000)
  if (seconds <= 0) return
  const { meter, size, bytes } = interval
  const name: Meter = meter === 'compute' ? `compute_${size!}_seconds` : `${meter}_byte_seconds`
  usage.set(name, (usage.get(name) ?? 0n) + BigInt(seconds) * BigInt(bytes ?? 1))
}

function compareAdjustments(period: PeriodRow, recomputed: bigint): Difference[] {
  if (period.adjustments_cents === null) return []
  const billed = BigInt(period.adjustments_cents)
  if (billed === recomputed) return []
  const { organization_id: organizationId, starts_at: periodStart } = period
  const place = { organizationId, periodStart, meter: 'adjustments' } as const
  return [{ ...place, field: 'amountCents', billed, recomputed }]
}

function compare(
  { organization_id: organizationId, starts_at: periodStart }: PeriodRow,
  billed: readonly RatedLine[],
  recomputed: readonly RatedLine[],
): Difference[] {
  const fields = ['quantity', 'included', 'billable', 'amountCents'] as const
  return recomputed.flatMap((line) => {
    const { meter } = line
    const other = billed.find((one) => one.meter === meter)
    return fields
      .filter((field) => other?.[field] !== line[field])
      .map((field) => ({
        organizationId,
        periodStart,
        meter,
        field,
        billed: other?.[field] ?? 0n,
        recomputed: line[field],
      }))
  })
}
