import type { MachineSize, OrganizationId } from '@computer/contract'
import { sql } from 'kysely'
import type { Database, PeriodRow, Tx } from '../../db/database.ts'
import { ApiError } from '../../errors.ts'
import { findOpenPeriod } from '../accounts/periods.ts'
import type { Entitlements } from '../accounts/plans.ts'
import { describeTime } from '../accounts/standing.ts'
import { sumUsage, usageOf } from '../events/meter-intervals.ts'
import { settledHour, sumUp } from '../events/settling.ts'
import { includedCompute } from '../rating.ts'

/*
 * The included compute of an organization, and its use. A start has to know both, so the worker settles the
 * open period, and a start counts the rest (events/settling.ts).
 */

/** Compute is in thousandths of a standard-second. */
export type Compute = {
  readonly included: bigint
  readonly used: bigint
  /** Whether a part of it is still to be settled. */
  readonly isUnsettled: boolean
  /** That a machine of each size uses in a second. */
  readonly weights: ReadonlyMap<MachineSize, bigint>
}

/** The included compute of the open period, and what is used of it. */
export async function readCompute(
  db: Database,
  { period, allowance }: Entitlements,
): Promise<Compute> {
  const unsettled = sumUsage(period.organization_id, {
    start: unsettledSince(period),
    end: period.ends_at,
    meter: 'compute',
  })
  const { rows } = await sql<{
    sums: Record<string, string> | null
    weights: Record<MachineSize, number>
  }>`
    select
      (select jsonb_object_agg(meter, quantity) from (${unsettled}) as u) as sums,
      (select jsonb_object_agg(id, weight_milli) from catalog_sizes
        where catalog_version = ${period.catalog_version}) as weights`.execute(db)
  const { sums, weights } = rows[0]!
  const seconds = sumUp([...Object.entries(period.compute_settled), ...Object.entries(sums ?? {})])
  const sizes = Object.entries(weights) as [MachineSize, number][]
  const used = sizes.reduce((sum, [size, weight]) => {
    return sum + BigInt(seconds[`compute_${size}_seconds`] ?? 0) * BigInt(weight)
  }, 0n)
  return {
    included: includedCompute(allowance()),
    used,
    isUnsettled: sums !== null,
    weights: new Map(sizes.map(([size, weight]) => [size, BigInt(weight)])),
  }
}

/** Counts the part of the open period that can no longer change, unless that was done this hour. */
export async function settleCompute(db: Database, organizationId: OrganizationId): Promise<void> {
  const period = await findOpenPeriod(db, organizationId)
  const start = unsettledSince(period)
  const hour = settledHour(period.now)
  const end = hour < period.ends_at ? hour : period.ends_at
  if (end <= start) return
  const usage = await usageOf(db, organizationId, { start, end, meter: 'compute' })
  const settled = sumUp([...Object.entries(period.compute_settled), ...usage])
  // Another worker may have been faster.
  await db
    .updateTable('billing_periods')
    .set({ compute_settled: JSON.stringify(settled) as never, compute_settled_through: end })
    .where('id', '=', period.id)
    .where('status', '=', 'open')
    .where('compute_settled_through', 'is not distinct from', period.compute_settled_through)
    .execute()
}

function unsettledSince({ compute_settled_through: through, starts_at: start }: PeriodRow): Date {
  return through ?? start
}

/**
 * Throws if the included compute is used up on a plan that then starts no machine. Otherwise the worker looks
 * at the period: the use by the machine that is about to start is to be settled, and may be the last of it.
 */
export async function requireCompute(
  tx: Tx,
  entitlements: Entitlements,
  running: number,
): Promise<void> {
  if (entitlements.whenUsedUp === 'allow') return
  const { included, used } = await readCompute(tx, entitlements)
  if (used < included) return expectUse(tx, entitlements)
  throw new ApiError(
    'quota_exceeded',
    `the compute that plan ${entitlements.planId} includes is used up, so no machine can be started before ${describeTime(entitlements.period.ends_at)}`,
    {
      quota: {
        limit: 'running_machines',
        current: running,
        maximum: 0,
        plan_id: entitlements.planId,
      },
    },
  )
}

/** A plan that refuses needs no earlier check than the one that settles, if there is to be one. */
async function expectUse(tx: Tx, { whenUsedUp, period }: Entitlements): Promise<void> {
  const { compute_check_at: next, now } = period
  if (next !== null && (whenUsedUp === 'refuse' || next <= now)) return
  await checkComputeAt(tx, period, now)
}

/** When the worker looks at the compute of an open period (used-up.ts). Null: not before the next start. */
export async function checkComputeAt(
  tx: Tx,
  { id }: Pick<PeriodRow, 'id'>,
  at: Date | null,
): Promise<void> {
  await tx
    .updateTable('billing_periods')
    .set({ compute_check_at: at })
    .where('id', '=', id)
    .where('status', '=', 'open')
    .execute()
}
