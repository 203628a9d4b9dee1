import type { MachineSize, OrganizationId } from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { Database, PeriodRow, Tx } from '../../db/database.ts'
import { ApiError } from '../../errors.ts'
import { findOpenPeriod } from '../accounts/periods.ts'
import type { Entitlements } from '../accounts/plans.ts'
import { describeTime } from '../accounts/standing.ts'
import { computeAllowance } from '../compute-allowance.ts'
import { usageOf, type UsageMeter } from '../events/meter-intervals.ts'
import { settledHour } from '../events/settled-hour.ts'
import { includedCompute } from '../rating.ts'

/*
 * How much of its included compute an organization has used. A start has to know it, so what can no longer
 * change of the open period is counted by the worker, and a start counts the rest.
 */

/** Compute is in thousandths of a standard-second. */
export type Compute = {
  readonly period: PeriodRow & { readonly now: Date }
  readonly included: bigint
  readonly used: bigint
  /** Whether a part of it is still to be settled. */
  readonly isUnsettled: boolean
  /** That a machine of each size uses in a second. */
  readonly weights: ReadonlyMap<MachineSize, bigint>
}

/** The included compute of the open period, and what is used of it. */
export async function readCompute(db: Database, organizationId: OrganizationId): Promise<Compute> {
  const period = await db
    .selectFrom('billing_periods as b')
    .innerJoin('catalog_plans as p', (join) =>
      join.onRef('p.id', '=', 'b.plan_id').onRef('p.catalog_version', '=', 'b.catalog_version'),
    )
    .selectAll('b')
    .select('p.included_standard_hours')
    .select(sql<Date>`clock_timestamp()`.as('now'))
    .select(
      sql<Record<MachineSize, number>>`(
        select jsonb_object_agg(id, weight_milli) from catalog_sizes
        where catalog_version = b.catalog_version)`.as('weights'),
    )
    .where('b.organization_id', '=', organizationId)
    .where('b.status', '=', 'open')
    .executeTakeFirstOrThrow()
  const unsettled = await usageOf(db, organizationId, {
    start: unsettledSince(period),
    end: period.ends_at,
    meter: 'compute',
  })
  const weights = new Map(
    Object.entries(period.weights).map(([size, weight]) => [size as MachineSize, BigInt(weight)]),
  )
  const seconds = addSettled(period, unsettled)
  const used = [...weights].reduce((sum, [size, weight]) => {
    return sum + (seconds.get(`compute_${size}_seconds`) ?? 0n) * weight
  }, 0n)
  return {
    period,
    included: includedCompute(computeAllowance(period, period)),
    used,
    isUnsettled: unsettled.size > 0,
    weights,
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
  const settled = Object.fromEntries(
    [...addSettled(period, usage)].map(([meter, seconds]) => [meter, String(seconds)]),
  )
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

function addSettled(
  { compute_settled: settled }: PeriodRow,
  unsettled: ReadonlyMap<UsageMeter, bigint>,
): ReadonlyMap<UsageMeter, bigint> {
  const sums = new Map(unsettled)
  for (const [meter, seconds] of Object.entries(settled) as [UsageMeter, string][])
    sums.set(meter, (sums.get(meter) ?? 0n) + BigInt(seconds))
  return sums
}

/**
 * Throws if the included compute is used up on a plan that then starts no machine. Otherwise the worker looks
 * at the period: what the machine that is about to start uses is to be settled, and may be the last of it.
 */
export async function requireCompute(
  tx: Tx,
  { organizationId }: Pick<Actor, 'organizationId'>,
  entitlements: Entitlements,
  running: number,
): Promise<void> {
  if (entitlements.whenUsedUp === 'allow') return
  const { included, used, period } = await readCompute(tx, organizationId)
  if (used < included) return expectUse(tx, entitlements, period)
  throw new ApiError(
    'quota_exceeded',
    `the compute that plan ${entitlements.planId} includes is used up, so no machine can be started before ${describeTime(period.ends_at)}`,
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
async function expectUse(
  tx: Tx,
  { whenUsedUp }: Entitlements,
  { now, ...period }: Compute['period'],
): Promise<void> {
  const next = period.compute_check_at
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
