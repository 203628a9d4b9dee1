import type { BudgetId } from '@computer/contract'
import { sql } from 'kysely'
import type { Database, Tx } from '../../db/database.ts'
import { settledHour, sumUp } from '../events/settling.ts'
import { findBudgets, readUse, type BudgetState, type UseRow } from './use.ts'

/*
 * A check of a budget reads what is settled of its window, and the intervals and bytes since then alone. An
 * hour is settled once every transaction that may still add to it is over. Hours, because that is what the
 * bytes of the gateway are summed up by.
 */

/** Windows that are over are of no use, unless the clock is set back. */
const keptFor = sql`interval '62 days'`

/** Counts the part of the present window that can no longer change, unless that was done this hour. */
export async function settleBudget(db: Database, budget: BudgetState): Promise<void> {
  const hour = settledHour(budget.now)
  const through = hour > budget.window_start ? hour : budget.window_start
  if (budget.settled_through && through <= budget.settled_through) return
  const settled = JSON.stringify(sumRows(await readUse(db, [budget], through))) as never
  if (budget.settled_through === null) {
    await insertWindow(db, budget, through, settled)
    return
  }
  // Another worker may have been faster; what is read then is not what was read here.
  await db
    .updateTable('budget_windows')
    .set({ settled, settled_through: through })
    .where('budget_id', '=', budget.id)
    .where('starts_at', '=', budget.window_start)
    .where('settled_through', '=', budget.settled_through)
    .execute()
}

/** Records the first window of a new budget. Bytes of the hour count by the hour, less those before it. */
export async function settleNewBudget(tx: Tx, id: BudgetId): Promise<void> {
  const [budget] = await findBudgets(tx, sql`b.id = ${id}`)
  if (budget!.window !== 'once') return settleBudget(tx, budget!)
  const { created_at: createdAt } = budget!
  const before = await readUse(tx, [budget!], createdAt)
  const settled = sumRows(
    before
      .filter(({ item }) => item === 'egress')
      .map((row) => ({ ...row, quantity: String(-BigInt(row.quantity)) })),
  )
  await insertWindow(tx, budget!, createdAt, JSON.stringify(settled) as never)
}

async function insertWindow(
  db: Database,
  budget: BudgetState,
  through: Date,
  settled: never,
): Promise<void> {
  await db
    .insertInto('budget_windows')
    .values({
      budget_id: budget.id,
      starts_at: budget.window_start,
      settled_through: through,
      settled,
      exhausted_at: null,
    })
    .onConflict((known) => known.doNothing())
    .execute()
  await db
    .deleteFrom('budget_windows')
    .where('budget_id', '=', budget.id)
    .where('starts_at', '<', sql<Date>`${budget.window_start}::timestamptz - ${keptFor}`)
    .execute()
}

function sumRows(rows: readonly UseRow[]): Record<string, string> {
  return sumUp(
    rows.map(({ version, currency, item, size, quantity }) => [
      `${version} ${currency} ${item} ${size ?? ''}`,
      quantity,
    ]),
  )
}
