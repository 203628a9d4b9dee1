import type { BudgetId, MachineSize } from '@computer/contract'
import { sql, type RawBuilder } from 'kysely'
import type { BudgetRow, Database } from '../../db/database.ts'
import { allColumns } from '../../db/query-compiler.ts'
import { countsAsRunning } from '../running.ts'
import { measure, type Measure, type PricedQuantity, type WaitingRun } from './measure.ts'
import { isMachineInScope, isUsageInScope } from './scope.ts'
import { windowEnd, windowStart } from './windows.ts'

/** A budget in its present window, at a time of the database. */
export type BudgetState = BudgetRow & {
  readonly now: Date
  readonly window_start: Date
  readonly window_end: Date | null
  /** Null: nothing is recorded of the window yet. */
  readonly settled_through: Date | null
  readonly notified: readonly number[]
  readonly exhausted_at: Date | null
}

export type MeasuredBudget = BudgetState & {
  readonly measure: Measure
  readonly currency: string
}

const now = sql`date_trunc('milliseconds', statement_timestamp())`

/** Reads budgets `b` for which a condition holds, the newest first. */
export async function findBudgets(
  db: Database,
  condition: RawBuilder<unknown>,
  limit = 1_000,
): Promise<BudgetState[]> {
  const { rows } = await sql<BudgetState>`
    select b.*, w.settled_through, coalesce(w.notified, '{}') as notified, w.exhausted_at
    from (
      select ${allColumns('budgets', 'b')}, ${now} as now, ${windowStart(now)} as window_start, ${windowEnd(now)} as window_end
      from budgets b where ${condition}
    ) as b
    left join budget_windows w on w.budget_id = b.id and w.starts_at = b.window_start
    order by b.id desc limit ${limit}`.execute(db)
  return rows
}

/** Counts what is used of budgets until now, and what goes on. */
export async function measureBudgets(
  db: Database,
  budgets: readonly BudgetState[],
): Promise<MeasuredBudget[]> {
  const rows = Map.groupBy(await readUse(db, budgets), ({ budget_id: id }) => id)
  const currencies = await readCurrencies(db, budgets)
  return budgets.map((budget) => ({
    ...budget,
    measure: measureOf(budget, rows.get(budget.id) ?? []),
    currency: currencies.get(budget.organization_id)!,
  }))
}

export function limitOf({ limit_type: type, limit_micros: value }: BudgetRow) {
  return { type, micros: BigInt(value) }
}

export function measureOf(budget: BudgetRow, rows: readonly UseRow[]): Measure {
  const used = rows.map((row) => toQuantity(row, row.quantity))
  const burning = rows.map((row) => toQuantity(row, row.per_second))
  return measure(limitOf(budget), used, burning)
}

/** A part of what counts for a budget, of one item, size and price. */
export type UseRow = {
  readonly budget_id: BudgetId
  readonly version: number
  readonly currency: string
  readonly item: PricedQuantity['item']
  readonly size: MachineSize | null
  readonly quantity: string
  /** What is added every second while nothing changes. */
  readonly per_second: string
  readonly weight_milli: number | null
  readonly cents: number | null
  readonly per_units: string
}

/**
 * What counts for budgets in their windows until now, or until another time: what is settled of a window,
 * and the intervals and the bytes since then. Each is priced under the period that contains it, and the
 * first period also has what was before it.
 */
export async function readUse(
  db: Database,
  budgets: readonly BudgetState[],
  until?: Date,
): Promise<UseRow[]> {
  if (budgets.length === 0) return []
  const ids = budgets.map(({ id }) => id)
  const starts = budgets.map((budget) => budget.window_start)
  const ends = budgets.map((budget) => until ?? budget.now)
  const { rows } = await sql<UseRow>`
    with asked as materialized (
      select ${allColumns('budgets', 'b')}, a.until, coalesce(w.settled_through, a.window_start) as since, w.settled
      from unnest(${ids}::text[], ${starts}::timestamptz[], ${ends}::timestamptz[])
        as a (id, window_start, until)
      join budgets b on b.id = a.id
      left join budget_windows w on w.budget_id = a.id and w.starts_at = a.window_start
    ), tariffs as materialized (${tariffsOf(sql`select organization_id from asked`)}),
    parts as (
      select b.id, split_part(key, ' ', 1)::integer as version, split_part(key, ' ', 2) as currency,
        split_part(key, ' ', 3) as item, nullif(split_part(key, ' ', 4), '') as size,
        value::numeric as quantity, 0::numeric as per_second
      from asked b, jsonb_each_text(b.settled)
      union all
      select b.id, t.version, t.currency, u.meter, u.size,
        sum(greatest(${ceiling(sql`least(u.ended, t.ends_at)`)}
          - ${ceiling(sql`greatest(u.started, t.starts_at)`)}, 0)::numeric * coalesce(u.bytes, 1)),
        sum(coalesce(u.bytes, 1)) filter (where u.is_open and t.ends_at = 'infinity')
      from asked b
      join lateral (
        select u.meter, u.size, u.bytes, u.ended_at is null as is_open,
          greatest(u.started_at, b.since) as started, least(coalesce(u.ended_at, b.until), b.until) as ended
        from meter_intervals u
        where u.organization_id = b.organization_id and u.started_at <= b.until
          and (u.ended_at is null or u.ended_at > b.since)
          and (b.limit_type = 'list_price_cents' or u.meter = 'compute')
          and ${isUsageInScope}
      ) as u on true
      join tariffs t on t.organization_id = b.organization_id
        and t.starts_at <= u.ended and t.ends_at > u.started
      group by b.id, t.version, t.currency, u.meter, u.size
      union all
      select b.id, t.version, t.currency, 'egress', null, sum(u.bytes), 0
      from asked b
      join egress_counts u on u.organization_id = b.organization_id
        and u.counted_at >= date_trunc('hour', b.since, 'UTC') and u.counted_at < b.until
        and ${isUsageInScope}
      join tariffs t on t.organization_id = b.organization_id
        and t.starts_at <= u.counted_at and t.ends_at > u.counted_at
      where b.limit_type = 'list_price_cents'
      group by b.id, t.version, t.currency
    )
    select p.id as budget_id, p.version, p.currency, p.item, p.size, p.quantity::text,
      coalesce(p.per_second, 0)::text as per_second, ${prices}
    from parts p ${priced}`.execute(db)
  return rows
}

/**
 * The machines that are wanted running and count for budgets, unless they have run for longer than any
 * start reserves; and one that is about to run.
 */
export async function readRuns(
  db: Database,
  budgets: readonly BudgetState[],
  newSize: MachineSize,
): Promise<ReadonlyMap<BudgetId, readonly WaitingRun[]>> {
  const ids = budgets.map(({ id }) => id)
  const starts = budgets.map((budget) => budget.window_start)
  const at = budgets[0]?.now
  const { rows } = await sql<UseRow & { ran_seconds: number }>`
    with tariffs as (${tariffsOf(sql`select organization_id from budgets where id = any (${ids})`)}),
    asked as (
      select ${allColumns('budgets', 'b')}, a.window_start, t.version, t.currency
      from unnest(${ids}::text[], ${starts}::timestamptz[]) as a (id, window_start)
      join budgets b on b.id = a.id
      join tariffs t on t.organization_id = b.organization_id and t.ends_at = 'infinity'
    ), runs as (
      select b.id, b.minimum_run_seconds, b.version, b.currency, 'compute' as item, m.size,
        case m.state when 'running' then greatest(
          ${ceiling(sql`${at}::timestamptz`)} - ${ceiling(sql`greatest(m.started_at, b.window_start)`)}, 0
        ) else 0 end as ran_seconds
      from asked b
      join machines m on m.organization_id = b.organization_id and ${isMachineInScope}
      where m.deleted_at is null and ${countsAsRunning}
      union all
      select id, minimum_run_seconds, version, currency, 'compute', ${newSize}, 0 from asked
    )
    select p.id as budget_id, p.item, p.size, count(*)::text as quantity, p.ran_seconds, ${prices}
    from runs p ${priced}
    where p.ran_seconds < greatest(p.minimum_run_seconds, 3600)
    group by p.id, p.item, p.size, p.ran_seconds, s.weight_milli, c.cents, c.per_units`.execute(db)
  const runs = rows.map((row) => ({
    id: row.budget_id,
    ...toQuantity(row, row.quantity),
    ranSeconds: BigInt(row.ran_seconds),
  }))
  return Map.groupBy(runs, ({ id }) => id)
}

function toQuantity(row: UseRow, quantity: string): PricedQuantity {
  const { item, weight_milli: weight, cents, per_units: perUnits } = row
  return {
    item,
    quantity: BigInt(quantity),
    weightMilli: BigInt(weight ?? 0),
    price: cents === null ? null : { cents: BigInt(cents), perUnits: BigInt(perUnits) },
  }
}

/** The periods of organizations as times with a version of the catalog and a currency, without gaps. */
function tariffsOf(organizations: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select p.organization_id, p.catalog_version as version, c.currency,
      case when p.starts_at = min(p.starts_at) over (partition by p.organization_id)
        then '-infinity' else p.starts_at end as starts_at,
      case p.status when 'open' then 'infinity' else p.ends_at end as ends_at
    from billing_periods p
    join catalog_plans c on c.catalog_version = p.catalog_version and c.id = p.plan_id
    where p.organization_id in (${organizations})`
}

const prices = sql`s.weight_milli, c.cents, c.per_units`
/** The size and the price of parts `p`. */
const priced = sql`
  left join catalog_sizes s on s.catalog_version = p.version and s.id = p.size
  left join catalog_prices c on c.catalog_version = p.version and c.currency = p.currency
    and c.item = p.item`

/** The first whole second since 1970 at a time or after it, as usage is counted (meter-intervals.ts). */
function ceiling(at: RawBuilder<unknown>): RawBuilder<number> {
  return sql`ceil(date_part('epoch', ${at}))::bigint`
}

export async function readCurrencies(
  db: Database,
  budgets: readonly BudgetState[],
): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(budgets.map((budget) => budget.organization_id))]
  if (ids.length === 0) return new Map()
  const { rows } = await sql<{ id: string; currency: string }>`
    select distinct on (p.organization_id) p.organization_id as id, c.currency
    from billing_periods p
    join catalog_plans c on c.catalog_version = p.catalog_version and c.id = p.plan_id
    where p.organization_id = any (${ids})
    order by p.organization_id, p.starts_at desc`.execute(db)
  return new Map(rows.map(({ id, currency }) => [id, currency]))
}
