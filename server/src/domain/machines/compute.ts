import type { MachineSize, OrganizationId } from '@computer/contract'
import type { Actor } from '../../actor.ts'
import type { Database, PeriodRow, Tx } from '../../db/database.ts'
import { ApiError } from '../../errors.ts'
import { findOpenPeriod } from '../accounts/periods.ts'
import type { Entitlements } from '../accounts/plans.ts'
import { describeTime } from '../accounts/standing.ts'
import { computeAllowance } from '../compute-allowance.ts'
import { usageOf } from '../events/meter-intervals.ts'
import { includedCompute } from '../rating.ts'

/** Compute is in thousandths of a standard-second. */
export type Compute = {
  readonly period: PeriodRow & { readonly now: Date }
  readonly included: bigint
  readonly used: bigint
  /** That a machine of each size uses in a second. */
  readonly weights: ReadonlyMap<MachineSize, bigint>
}

/** The included compute of the open period, and what is used of it. */
export async function readCompute(db: Database, organizationId: OrganizationId): Promise<Compute> {
  const period = await findOpenPeriod(db, organizationId)
  const { starts_at: start, ends_at: end, catalog_version: version } = period
  const plan = await db
    .selectFrom('catalog_plans')
    .select('included_standard_hours')
    .where('catalog_version', '=', version)
    .where('id', '=', period.plan_id)
    .executeTakeFirstOrThrow()
  const sizes = await db
    .selectFrom('catalog_sizes')
    .select(['id', 'weight_milli'])
    .where('catalog_version', '=', version)
    .execute()
  const usage = await usageOf(db, organizationId, { start, end, meter: 'compute' })
  const weights = new Map(sizes.map(({ id, weight_milli }) => [id, BigInt(weight_milli)]))
  const used = [...weights].reduce((sum, [size, weight]) => {
    return sum + (usage.get(`compute_${size}_seconds`) ?? 0n) * weight
  }, 0n)
  return {
    period,
    included: includedCompute(computeAllowance(period, plan)),
    used,
    weights,
  }
}

/**
 * Throws if the included compute is used up on a plan that then starts no machine. If the plan also stops
 * machines, the worker finds out when the one that is about to start makes it used up.
 */
export async function requireCompute(
  tx: Tx,
  { organizationId }: Pick<Actor, 'organizationId'>,
  entitlements: Entitlements,
  running: number,
): Promise<void> {
  if (entitlements.whenUsedUp === 'allow') return
  const { included, used, period } = await readCompute(tx, organizationId)
  if (used < included) {
    if (entitlements.whenUsedUp === 'stop') await checkComputeAt(tx, period, period.now)
    return
  }
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

/** When the worker looks whether the included compute of an open period is used up (used-up.ts). */
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
