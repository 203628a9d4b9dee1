import type { OrganizationId } from '@computer/contract'
import { sql, type UpdateObject } from 'kysely'
import {
  transactionsEndWithinMs,
  type Database,
  type PeriodRow,
  type Schema,
  type Tx,
} from '../../db/database.ts'
import type { Terms } from '../../db/tables/billing.ts'
import { endOfMonth, startOfHour } from '../calendar.ts'

/*
 * Billing periods of an organization. Each begins where the one before it ended, exactly one is open, and
 * a lock on the account serializes their changes.
 *
 * A period that ends is `closing` first: its usage is counted (domain/billing/closing.ts) once every
 * transaction that may still add to it is over. From its end on, `closed_through` of the account keeps
 * later events and bytes out of it, even if the clock is set back.
 */

/** An open period, and the time of the database. */
export type OpenPeriod = PeriodRow & { readonly now: Date }

/** Gives a new organization its account, and a period with the plan until the end of the month. */
export async function openAccount(
  tx: Tx,
  organizationId: OrganizationId,
  planId: string,
): Promise<void> {
  const start = startOfHour(await readClock(tx))
  await tx
    .insertInto('billing_accounts')
    .values({ organization_id: organizationId, next_plan_id: null, closed_through: start })
    .execute()
  await openPeriod(tx, { organizationId, planId, terms: {}, start, isFirst: true })
}

/** The open period. One whose time is over is ended first. */
export async function getPeriod(db: Database, organizationId: OrganizationId): Promise<OpenPeriod> {
  const period = await findOpenPeriod(db, organizationId)
  if (period.ends_at > period.now) return period
  await db.transaction().execute((tx) => rollPeriod(tx, organizationId))
  return findOpenPeriod(db, organizationId)
}

/** Ends the periods whose time is over, of up to a hundred organizations, and opens the next ones. */
export async function rollPeriods(db: Database): Promise<void> {
  const due = await db
    .selectFrom('billing_periods')
    .select('organization_id')
    .where('status', '=', 'open')
    .where('ends_at', '<=', sql<Date>`now()`)
    .orderBy('ends_at')
    .limit(100)
    .execute()
  await forEachOf(due, ({ organization_id }) =>
    db.transaction().execute((tx) => rollPeriod(tx, organization_id)),
  )
}

/** Does the work of every row, so that one that fails does not keep the others from theirs. */
export async function forEachOf<Row>(
  rows: readonly Row[],
  work: (row: Row) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = []
  for (const row of rows) await work(row).catch((error: unknown) => failures.push(error))
  if (failures.length > 0)
    throw new AggregateError(failures, 'billing periods could not be changed')
}

/**
 * Ends the open period if its time is over, and opens the next: one for each month of a server that was
 * off. The changes that waited for the end take effect. A deleted organization gets no other period.
 */
export async function rollPeriod(tx: Tx, organizationId: OrganizationId): Promise<void> {
  for (;;) {
    const { next_plan_id: nextPlanId, is_deleted: isDeleted } = await lockAccount(
      tx,
      organizationId,
    )
    const period = await selectOpenPeriod(tx, organizationId).executeTakeFirst()
    if (!period || period.ends_at > period.now) return
    await endPeriod(tx, period, period.ends_at)
    if (isDeleted) return
    const start = period.ends_at
    const terms = await findTerms(tx, organizationId, start)
    await openPeriod(tx, { organizationId, planId: nextPlanId ?? period.plan_id, terms, start })
    await updateAccount(tx, organizationId, { next_plan_id: null })
  }
}

/** Serializes changes of the account and its periods. */
export async function lockAccount(tx: Tx, organizationId: OrganizationId) {
  return tx
    .selectFrom('billing_accounts as a')
    .innerJoin('organizations as o', 'o.id', 'a.organization_id')
    .selectAll('a')
    .select(sql<boolean>`o.deleted_at is not null`.as('is_deleted'))
    .where('a.organization_id', '=', organizationId)
    .forUpdate('a')
    .executeTakeFirstOrThrow()
}

export async function updateAccount(
  tx: Tx,
  organizationId: OrganizationId,
  values: UpdateObject<Schema, 'billing_accounts'>,
): Promise<void> {
  await tx
    .updateTable('billing_accounts')
    .set(values)
    .where('organization_id', '=', organizationId)
    .execute()
}

export async function findOpenPeriod(
  db: Database,
  organizationId: OrganizationId,
): Promise<OpenPeriod> {
  return selectOpenPeriod(db, organizationId).executeTakeFirstOrThrow()
}

function selectOpenPeriod(db: Database, organizationId: OrganizationId) {
  return db
    .selectFrom('billing_periods')
    .selectAll()
    .select(sql<Date>`clock_timestamp()`.as('now'))
    .where('organization_id', '=', organizationId)
    .where('status', '=', 'open')
}

/** Ends an open period at a time that has come. The account is locked. */
export async function endPeriod(tx: Tx, period: OpenPeriod, end: Date): Promise<void> {
  await tx
    .updateTable('billing_periods')
    .set({
      status: 'closing',
      ends_at: end,
      closes_at: new Date(period.now.getTime() + transactionsEndWithinMs),
    })
    .where('id', '=', period.id)
    .execute()
  await updateAccount(tx, period.organization_id, {
    closed_through: sql`greatest(closed_through, ${end})`,
  })
}

/** Opens a period until the end of the month. The account is locked, or new. */
export async function openPeriod(
  tx: Tx,
  period: {
    readonly organizationId: OrganizationId
    readonly planId: string
    readonly terms: Terms
    readonly start: Date
    readonly isFirst?: boolean
  },
): Promise<void> {
  const { organizationId, planId, terms, start, isFirst = false } = period
  await tx
    .insertInto('billing_periods')
    .values({
      organization_id: organizationId,
      starts_at: start,
      ends_at: endOfMonth(start),
      plan_id: planId,
      catalog_version: versionFor(planId, start),
      terms: JSON.stringify(terms) as never,
      has_whole_allowance: isFirst,
      status: 'open',
      closes_at: null,
      closed_at: null,
      compute_check_at: checkFrom(planId, start),
    })
    .execute()
}

/** The newest version of the catalog with the plan that is in effect at a time, or else the oldest. */
export function versionFor(planId: string, at: Date) {
  return sql<number>`(
    select v.version from catalog_versions v
    join catalog_plans p on p.catalog_version = v.version and p.id = ${planId}
    order by v.effective_at <= ${at} desc, v.version * case when v.effective_at <= ${at} then -1 else 1 end
    limit 1
  )`
}

/** When the compute of a period is first checked: from its start on, if its plan limits it. */
export function checkFrom(planId: string, start: Date) {
  return sql<Date | null>`(
    select ${start}::timestamptz from catalog_plans
    where catalog_version = ${versionFor(planId, start)} and id = ${planId} and when_used_up <> 'allow'
  )`
}

async function findTerms(tx: Tx, organizationId: OrganizationId, at: Date): Promise<Terms> {
  const row = await tx
    .selectFrom('organization_terms')
    .select('terms')
    .where('organization_id', '=', organizationId)
    .where('effective_at', '<=', at)
    .orderBy('effective_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.terms ?? {}
}

async function readClock(db: Database): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db)
  return rows[0]!.now
}
