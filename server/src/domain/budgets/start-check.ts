import { sql } from 'kysely'
import type { MachineRow, Tx } from '../../db/database.ts'
import { ApiError } from '../../errors.ts'
import { hasRoom, reserved } from './measure.ts'
import { isMachineInScope } from './scope.ts'
import {
  findBudgets,
  limitOf,
  measureBudgets,
  measureOf,
  readRuns,
  readUse,
  type MeasuredBudget,
} from './use.ts'
import { describeEnd, describeUse, nameBudget } from './words.ts'

/**
 * Refuses that a machine runs if a budget that it counts for has no room. Call it in the transaction of the
 * start, with the organization locked and the machine's row as the start leaves it: the machine then
 * counts as one that is wanted running, with all others that were admitted before.
 */
export async function requireBudgets(tx: Tx, { id }: Pick<MachineRow, 'id'>): Promise<void> {
  const budgets = await findBudgets(
    tx,
    sql`b.action <> 'notify' and exists (
      select from machines m where m.id = ${id} and m.organization_id = b.organization_id
        and ${isMachineInScope}
    )`,
  )
  if (budgets.length === 0) return
  const used = Map.groupBy(await readUse(tx, budgets), ({ budget_id }) => budget_id)
  const runs = await readRuns(tx, budgets)
  // The oldest budget is named, whichever others have no room either.
  for (const budget of budgets.toReversed()) {
    const measured = measureOf(budget, used.get(budget.id) ?? [])
    const kept = reserved(limitOf(budget), runs.get(budget.id) ?? [], budget.minimum_run_seconds)
    if (hasRoom(measured, kept)) continue
    const [refusing] = await measureBudgets(tx, [budget])
    throw refusal(refusing!)
  }
}

/** The closed set of limits has no word for a budget, so the error names it as a field (docs/decisions/0026). */
function refusal(budget: MeasuredBudget): ApiError {
  const message = `${nameBudget(budget)} has no room for another start: ${describeUse(budget)} used, and every start keeps ${budget.minimum_run_seconds} seconds of its compute; ${describeEnd(budget)}. Stop a machine, or ask an owner to raise the budget`
  const field = { field: 'budget', message: `${budget.id} is used up or reserved` }
  return new ApiError('quota_exceeded', message, { details: [field] })
}
