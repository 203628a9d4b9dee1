import type { MachineSize, OrganizationId, QuotaLimit, WhenUsedUp } from '@computer/contract'
import { sql, type Selectable } from 'kysely'
import type { Database, Schema } from '../../db/database.ts'
import { ApiError, invalid } from '../../errors.ts'
import { computeAllowance } from '../compute-allowance.ts'
import type { ComputeAllowance } from '../rating.ts'
import type { OpenPeriod } from './periods.ts'

/** An account is due this long before starting is refused. */
export const graceDays = 7

/** Of an account `a`: from when on starting is refused. Null: a payment is not due. */
export const startingRefusedAt = sql<Date | null>`(a.past_due_since + make_interval(days => ${sql.lit(graceDays)}))`

const sizeOrder: readonly MachineSize[] = ['small', 'standard', 'large']

export type Entitlements = {
  readonly planId: string
  readonly period: OpenPeriod
  readonly largestSize: MachineSize
  /** Since when a payment is due, if for so long that no machine can be started (standing.ts). */
  readonly startingRefusedSince: Date | null
  readonly whenUsedUp: WhenUsedUp
  /** The compute that the period includes. */
  allowance(): ComputeAllowance
  /** Null if no number was agreed. */
  find(key: QuotaLimit): number | null
  /** Refuses if no number was agreed. */
  limit(key: QuotaLimit): number
}

/** A size in the catalog that is in effect. */
export async function getSize(db: Database, size: MachineSize) {
  return db
    .selectFrom('catalog_sizes')
    .selectAll()
    .where('id', '=', size)
    .where('catalog_version', '=', currentVersion())
    .executeTakeFirstOrThrow()
}

/**
 * The limits of an organization, by the plan and the terms of its period. A limit that is null in the plan
 * is negotiated, never unlimited: without a number in the terms the call is refused (specification,
 * Errors).
 */
export async function getEntitlements(
  db: Database,
  organizationId: OrganizationId,
): Promise<Entitlements> {
  const { plan, refused_since, ...period } = await db
    .selectFrom('billing_periods as b')
    .innerJoin('catalog_plans as p', (join) =>
      join.onRef('p.id', '=', 'b.plan_id').onRef('p.catalog_version', '=', 'b.catalog_version'),
    )
    .innerJoin('billing_accounts as a', 'a.organization_id', 'b.organization_id')
    .selectAll('b')
    .select([
      sql<Selectable<Schema['catalog_plans']>>`to_jsonb(p)`.as('plan'),
      sql<Date>`clock_timestamp()`.as('now'),
      sql<Date | null>`case when ${startingRefusedAt} <= clock_timestamp() then a.past_due_since end`.as(
        'refused_since',
      ),
    ])
    .where('b.organization_id', '=', organizationId)
    .where('b.status', '=', 'open')
    .executeTakeFirstOrThrow()
  const { terms } = period
  const find = (key: QuotaLimit): number | null => {
    const value = terms[key] ?? plan[key]
    return typeof value === 'number' ? value : null
  }
  return {
    planId: plan.id,
    period,
    allowance: () => computeAllowance(period, plan),
    startingRefusedSince: refused_since,
    whenUsedUp: plan.when_used_up,
    largestSize: (terms['largest_size'] ?? plan.largest_size ?? 'small') as MachineSize,
    find,
    limit(key) {
      const value = find(key)
      if (value !== null) return value
      throw new ApiError(
        'quota_exceeded',
        `plan ${plan.id} has no limit configured for ${wordsOf(key)}; ask the operator to set one`,
        { quota: { limit: key, current: 0, maximum: null, plan_id: plan.id } },
      )
    },
  }
}

/** Refuses if one more would exceed the limit. */
export function requireRoom(entitlements: Entitlements, limit: QuotaLimit, current: number): void {
  const maximum = entitlements.limit(limit)
  if (current < maximum) return
  throw new ApiError(
    'quota_exceeded',
    `plan ${entitlements.planId} allows ${maximum} ${wordsOf(limit)}, and ${current} are in use`,
    { quota: { limit, current, maximum, plan_id: entitlements.planId } },
  )
}

/**
 * A plan caps the size of machines (specification, Machine sizes). The closed set of limits has no word
 * for the size, so the error names the field instead (docs/decisions/0019).
 */
export function requireSize(entitlements: Entitlements, size: MachineSize): void {
  if (sizeOrder.indexOf(size) <= sizeOrder.indexOf(entitlements.largestSize)) return
  throw new ApiError(
    'quota_exceeded',
    `plan ${entitlements.planId} allows machines up to ${entitlements.largestSize}, not ${size}`,
    { details: [{ field: 'size', message: `must be at most ${entitlements.largestSize}` }] },
  )
}

export function requireNoShrink(fromGb: number, toGb: number): void {
  if (toGb < fromGb) {
    throw invalid(
      `the disk has ${fromGb} GB and cannot shrink to the ${toGb} GB of this size; choose a larger size`,
    )
  }
}

function wordsOf(limit: QuotaLimit): string {
  return limit.replaceAll('_', ' ')
}

/** The version of the catalog that is in effect. */
export function currentVersion() {
  return sql<number>`(select max(version) from catalog_versions where effective_at <= now())`
}
