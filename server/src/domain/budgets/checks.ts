import type { BudgetId, MachineId } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { Database, Tx } from '../../db/database.ts'
import { forEachOf } from '../accounts/periods.ts'
import { lockOrganization } from '../accounts/organizations.ts'
import { stopForReason } from '../events/machine-states.ts'
import { mailThreshold } from './mails.ts'
import { hasReached, isExhausted, reachesAt } from './measure.ts'
import { isMachineInScope } from './scope.ts'
import { settleBudget } from './settling.ts'
import { findBudgets, measureBudgets, type MeasuredBudget } from './use.ts'
import { describeUse, nameBudget } from './words.ts'

/*
 * The worker's side of budgets. What goes on burns at a known rate, so a check computes when the next
 * threshold or the limit will be reached, and the next check is then. It is earlier if a machine began to
 * run, if bytes were counted, or if the budget was changed. Every check may be repeated, by any worker.
 */

const batch = 200
const stopsAtOnce = 50
/** What a check might have missed: rows of transactions that began before it. */
const overlap = sql`interval '5 seconds'`
const restMs = 60_000
/** A machine that could not be stopped runs on without an event that a check looks for. */
const exhaustedRestMs = 5_000

type Checking = Pick<App, 'config' | 'db' | 'changes'>

/** Checks the budgets that are due. Resolves to the milliseconds until the next one is. */
export async function checkBudgets(app: Checking): Promise<number> {
  const due = await findDue(app.db)
  await forEachOf(due, ({ id }) => checkBudget(app, id))
  if (due.length === batch) return 0
  const { rows } = await sql<{ ms: number | null }>`
    select date_part('epoch', min(check_at) - clock_timestamp()) * 1000 as ms
    from budgets`.execute(app.db)
  return Math.max(rows[0]!.ms ?? restMs, 0)
}

async function findDue(db: Database): Promise<{ readonly id: BudgetId }[]> {
  const { rows } = await sql<{ id: BudgetId }>`
    select b.id from budgets b
    where b.check_at <= clock_timestamp()
      or exists (
        select from meter_intervals i where i.organization_id = b.organization_id
          and i.started_at > b.checked_at - ${overlap} and i.ended_at is null
      )
      or b.limit_type = 'list_price_cents' and exists (
        select from egress_counts e where e.organization_id = b.organization_id
          and e.counted_at > b.checked_at - ${overlap}
      )
    order by b.check_at limit ${batch}`.execute(db)
  return rows
}

export async function checkBudget(app: Checking, id: BudgetId): Promise<void> {
  const [state] = await findBudgets(app.db, sql`b.id = ${id}`)
  if (!state) return
  await settleBudget(app.db, state)
  let budget = (await measureBudgets(app.db, [state]))[0]!
  while (needsWork(budget) || (await findRunning(app.db, budget)).length > 0) {
    const { after, stopped } = await app.db.transaction().execute((tx) => work(tx, app, budget))
    for (const machineId of stopped) app.changes.publish(machineId)
    if (!after) return
    budget = after
    if (stopped.length < stopsAtOnce) break
  }
  await app.db
    .updateTable('budgets')
    .set({ checked_at: budget.now, check_at: nextCheck(budget) })
    .where('id', '=', id)
    .where('revision', '=', budget.revision)
    .execute()
}

/** Whether something of the window is to be recorded. */
function needsWork(budget: MeasuredBudget): boolean {
  const isNoted = budget.exhausted_at !== null
  return freshThresholds(budget).length > 0 || isExhausted(budget.measure) !== isNoted
}

function freshThresholds({ thresholds, notified, measure }: MeasuredBudget): number[] {
  return thresholds.filter((percent) => !notified.includes(percent) && hasReached(measure, percent))
}

/**
 * Records what was reached, queues the mails and stops machines, from what the budget and its use are under
 * the lock: it may have been raised or deleted meanwhile.
 */
async function work(
  tx: Tx,
  app: Checking,
  { id, organization_id: organizationId }: MeasuredBudget,
) {
  await lockOrganization(tx, { organizationId })
  const found = await findBudgets(tx, sql`b.id = ${id}`)
  const [budget] = await measureBudgets(tx, found)
  if (!budget) return { after: undefined, stopped: [] }
  const fresh = freshThresholds(budget)
  const exhausted = isExhausted(budget.measure)
  const exhaustedAt = exhausted ? (budget.exhausted_at ?? budget.now) : null
  const notified = [...budget.notified, ...fresh]
  await tx
    .insertInto('budget_windows')
    .values({
      budget_id: id,
      starts_at: budget.window_start,
      settled_through: budget.window_start,
      notified,
      exhausted_at: exhaustedAt,
    })
    .onConflict((known) =>
      known
        .columns(['budget_id', 'starts_at'])
        .doUpdateSet({ notified, exhausted_at: exhaustedAt }),
    )
    .execute()
  const highest = fresh.at(-1)
  if (highest !== undefined) await mailThreshold(tx, app.config, budget, highest)
  const stopped = await stopSome(tx, budget)
  return { after: { ...budget, notified, exhausted_at: exhaustedAt }, stopped }
}

async function stopSome(tx: Tx, budget: MeasuredBudget): Promise<MachineId[]> {
  const message = `stopped by ${nameBudget(budget)}: ${describeUse(budget)} used`
  const stopped: MachineId[] = []
  for (const { id } of await findRunning(tx, budget)) {
    if (await stopForReason(tx, id, message)) stopped.push(id)
  }
  return stopped
}

/** Machines that an exhausted budget stops. One that starts is stopped once it runs. */
async function findRunning(
  db: Database,
  budget: MeasuredBudget,
): Promise<readonly { readonly id: MachineId }[]> {
  if (budget.action !== 'stop' || !isExhausted(budget.measure)) return []
  const { rows } = await sql<{ id: MachineId }>`
    select m.id from budgets b
    join machines m on m.organization_id = b.organization_id and ${isMachineInScope}
    where b.id = ${budget.id} and m.state = 'running' and m.deleted_at is null
    order by m.id limit ${stopsAtOnce}`.execute(db)
  return rows
}

function nextCheck(budget: MeasuredBudget): Date {
  const { now, measure, thresholds, notified, window_end: end, action } = budget
  const isStopping = action === 'stop' && isExhausted(measure)
  const percents = [...thresholds.filter((percent) => !notified.includes(percent)), 100]
  const times = [
    new Date(now.getTime() + (isStopping ? exhaustedRestMs : restMs)),
    end,
    ...percents.map((percent) => reachesAt(measure, now, percent)),
  ]
  return new Date(Math.min(...times.filter((time) => time !== null).map(Number)))
}
