import type { MachineId, MachineSize } from '@computer/contract'
import { sql, type RawBuilder } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { Tx } from '../../db/database.ts'
import type { Labels } from '../../db/tables/attribution.ts'
import { ApiError } from '../../errors.ts'
import { hasRoom, reserved } from './measure.ts'
import {
  findBudgets,
  limitOf,
  measureOf,
  readCurrencies,
  readRuns,
  readUse,
  type MeasuredBudget,
} from './use.ts'
import { describeEnd, describeUse, nameBudget } from './words.ts'

/** A machine that is about to run. */
type Start = {
  readonly id: MachineId
  readonly size: MachineSize
  readonly labels: RawBuilder<Labels>
}

/**
 * Refuses that a machine runs if a budget that it would count for has no room. Call it in the transaction of
 * the start with the organization locked, before the machine is wanted running: those that were admitted
 * before are. It comes before all writes of the start, so that a caller who repeats a refused one costs little.
 */
export async function requireBudgets(tx: Tx, actor: Actor, start: Start): Promise<void> {
  const budgets = await findBudgets(
    tx,
    sql`b.organization_id = ${actor.organizationId} and b.action <> 'notify'
      and ${isStartInScope(actor, start)}`,
  )
  if (budgets.length === 0) return
  const used = Map.groupBy(await readUse(tx, budgets), ({ budget_id: id }) => id)
  const runs = await readRuns(tx, budgets, start.size)
  // The oldest budget is named, whichever others have no room either.
  for (const budget of budgets.toReversed()) {
    const measure = measureOf(budget, used.get(budget.id) ?? [])
    const kept = reserved(limitOf(budget), runs.get(budget.id) ?? [], budget.minimum_run_seconds)
    if (hasRoom(measure, kept)) continue
    const currencies = await readCurrencies(tx, [budget])
    throw refusal({ ...budget, measure, currency: currencies.get(budget.organization_id)! })
  }
}

function isStartInScope({ principal }: Actor, { id, labels }: Start): RawBuilder<boolean> {
  const keyId = principal.type === 'api_key' ? principal.id : null
  return sql`(case b.scope_type
    when 'organization' then true
    when 'api_key' then b.scope_id = ${keyId}
    when 'machine' then b.scope_id = ${id}
    else ${labels} ->> b.label_key = b.label_value end)`
}

/** The closed set of limits has no word for a budget, so the error names it as a field (docs/decisions/0026). */
function refusal(budget: MeasuredBudget): ApiError {
  const message = `${nameBudget(budget)} has no room for another start: ${describeUse(budget)} used, and every start keeps ${budget.minimum_run_seconds} seconds of its compute; ${describeEnd(budget)}. Stop a machine, or ask an owner to raise the budget`
  const field = { field: 'budget', message: `${budget.id} is used up or reserved` }
  return new ApiError('quota_exceeded', message, { details: [field] })
}
