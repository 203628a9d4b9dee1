import type {
  BudgetId,
  BudgetScope,
  CreateBudget,
  MachineId,
  UpdateBudget,
} from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { BudgetRow, Database, Tx } from '../../db/database.ts'
import { isUniqueViolation } from '../../db/errors.ts'
import { conflict, invalid, notFound } from '../../errors.ts'
import { auditedBy, noteAudit } from '../accounts/audit-events.ts'
import { lockOrganization } from '../accounts/organizations.ts'
import { getMachine } from '../find-machine.ts'
import { pageByKey, type PageRequest } from '../page.ts'
import { hasReached } from './measure.ts'
import { isMachineInScope, scopeColumns } from './scope.ts'
import { settleNewBudget } from './settling.ts'
import { findBudgets, measureBudgets, type BudgetState, type MeasuredBudget } from './use.ts'

const maxBudgets = 100
const shape = /^bud_[0-9a-z]{20,32}$/

/** Newest first, with what is used of each. */
export async function listBudgets(
  db: Database,
  actor: Actor,
  { machine_id: machineId, ...page }: PageRequest & { readonly machine_id?: MachineId | undefined },
) {
  if (machineId !== undefined) await getMachine(db, actor, machineId)
  const isAskedFor =
    machineId === undefined
      ? sql`true`
      : sql`exists (select from machines m where m.id = ${machineId} and ${isMachineInScope})`
  const states = await pageByKey(
    page,
    shape,
    ({ id }: BudgetState) => id,
    (before, count) =>
      findBudgets(
        db,
        sql`b.organization_id = ${actor.organizationId} and ${isAskedFor}
          and (${before}::text is null or b.id < ${before})`,
        count,
      ),
  )
  return { ...states, data: await measureBudgets(db, states.data) }
}

export async function getBudget(db: Database, actor: Actor, id: BudgetId): Promise<MeasuredBudget> {
  const budget = await findBudget(db, actor, id)
  if (!budget) throw notFound(`budget ${id}`)
  return budget
}

/** A repeated call with the same id returns the budget of the first call. */
export async function createBudget(
  app: Pick<App, 'db'>,
  actor: Actor,
  id: BudgetId,
  input: CreateBudget,
): Promise<MeasuredBudget> {
  const create = async (tx: Tx) => {
    await lockOrganization(tx, actor)
    const existing = await findBudget(tx, actor, id)
    if (existing) return existing
    await requireRoomForBudget(tx, actor)
    await requireScope(tx, actor, input.scope)
    await tx
      .insertInto('budgets')
      .values({
        id,
        organization_id: actor.organizationId,
        name: input.name,
        ...scopeColumns(input.scope),
        ...limitColumns(input.limit),
        window: input.window,
        thresholds: sorted(input.thresholds),
        action: input.action,
        minimum_run_seconds: input.minimum_run_seconds,
      })
      .execute()
    await settleNewBudget(tx, id)
    await audit(tx, actor, 'budget.created', { id, name: input.name })
    return getBudget(tx, actor, id)
  }
  return inTransaction(app, input.name, create)
}

/** Takes effect for starts at once, and wakes the check that stops machines. */
export async function updateBudget(
  app: Pick<App, 'db'>,
  actor: Actor,
  id: BudgetId,
  change: UpdateBudget,
): Promise<MeasuredBudget> {
  return inTransaction(app, change.name, async (tx) => {
    // Starts and stops in the budget's scope hold the same lock.
    await lockOrganization(tx, actor)
    const before = await getBudget(tx, actor, id)
    const { limit, name, action, thresholds, minimum_run_seconds: minimumRun } = change
    if (limit && limit.type !== before.limit_type) {
      const message = `must be ${before.limit_type}, as before; create another budget instead`
      throw invalid(`body: limit.type: ${message}`, [{ field: 'limit.type', message }])
    }
    if (Object.values(change).every((value) => value === undefined)) return before
    await tx
      .updateTable('budgets')
      .set({
        ...(name !== undefined && { name }),
        ...(limit && limitColumns(limit)),
        ...(action && { action }),
        ...(thresholds && { thresholds: sorted(thresholds) }),
        ...(minimumRun !== undefined && { minimum_run_seconds: minimumRun }),
        revision: sql`revision + 1`,
        check_at: sql`clock_timestamp()`,
      })
      .where('id', '=', id)
      .execute()
    const after = await getBudget(tx, actor, id)
    await rearm(tx, after)
    await audit(tx, actor, 'budget.updated', after)
    return after
  })
}

export async function deleteBudget(
  app: Pick<App, 'db'>,
  actor: Actor,
  id: BudgetId,
): Promise<void> {
  await app.db.transaction().execute(async (tx) => {
    await lockOrganization(tx, actor)
    const gone = await tx
      .deleteFrom('budgets')
      .where('id', '=', id)
      .where('organization_id', '=', actor.organizationId)
      .returningAll()
      .executeTakeFirst()
    if (!gone) throw notFound(`budget ${id}`)
    await audit(tx, actor, 'budget.deleted', gone)
  })
}

async function findBudget(
  db: Database,
  actor: Actor,
  id: BudgetId,
): Promise<MeasuredBudget | undefined> {
  const found = await findBudgets(
    db,
    sql`b.id = ${id} and b.organization_id = ${actor.organizationId}`,
  )
  return (await measureBudgets(db, found))[0]
}

/** Thresholds that a higher limit has moved beyond what is used will be told again. */
async function rearm(tx: Tx, budget: MeasuredBudget): Promise<void> {
  await tx
    .updateTable('budget_windows')
    .set({ notified: budget.notified.filter((percent) => hasReached(budget.measure, percent)) })
    .where('budget_id', '=', budget.id)
    .where('starts_at', '=', budget.window_start)
    .execute()
}

async function requireRoomForBudget(tx: Tx, { organizationId }: Actor): Promise<void> {
  const { count } = await tx
    .selectFrom('budgets')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('organization_id', '=', organizationId)
    .executeTakeFirstOrThrow()
  if (count < maxBudgets) return
  throw conflict(`an organization has at most ${maxBudgets} budgets; delete one first`)
}

/** What the scope names has to exist, or the budget would count nothing. */
async function requireScope(tx: Tx, actor: Actor, scope: BudgetScope): Promise<void> {
  const fields = { api_key: 'api_key_id', machine: 'machine_id', label: 'label' } as const
  const wanted = scope.type === 'organization' ? null : fields[scope.type]
  for (const field of Object.values(fields)) {
    const isGiven = scope[field] !== undefined
    if (isGiven === (field === wanted)) continue
    const message = isGiven ? `must be left out with type ${scope.type}` : 'is required'
    throw invalid(`body: scope.${field}: ${message}`, [{ field: `scope.${field}`, message }])
  }
  if (scope.machine_id) await getMachine(tx, actor, scope.machine_id)
  if (scope.api_key_id) {
    const key = await tx
      .selectFrom('api_keys')
      .select('id')
      .where('id', '=', scope.api_key_id)
      .where('organization_id', '=', actor.organizationId)
      .executeTakeFirst()
    if (!key) throw notFound(`API key ${scope.api_key_id}`)
  }
  if (!scope.label) return
  const { label_keys: keys } = await tx
    .selectFrom('organizations')
    .select('label_keys')
    .where('id', '=', actor.organizationId)
    .executeTakeFirstOrThrow()
  if (keys.includes(scope.label.key)) return
  const message = 'is not counted by: add it with PUT /v1/usage/labels first'
  throw invalid(`body: scope.label.key: ${message}`, [{ field: 'scope.label.key', message }])
}

function limitColumns({ type, value }: CreateBudget['limit']) {
  const [whole, fraction = ''] = value.split('.')
  return { limit_type: type, limit_micros: `${whole}${fraction.padEnd(6, '0')}` }
}

function sorted(thresholds: readonly number[]): number[] {
  return thresholds.toSorted((a, b) => a - b)
}

async function audit(
  tx: Tx,
  actor: Actor,
  type: 'budget.created' | 'budget.updated' | 'budget.deleted',
  { id, name }: Pick<BudgetRow, 'id' | 'name'>,
): Promise<void> {
  await noteAudit(tx, { ...auditedBy(actor), type, target: { type: 'budget', id, name } })
}

async function inTransaction<T>(
  app: Pick<App, 'db'>,
  name: string | undefined,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  try {
    return await app.db.transaction().execute(work)
  } catch (error) {
    if (!isUniqueViolation(error, 'budgets_organization_id_name_key')) throw error
    throw conflict(`a budget of this organization is already called ${name}`)
  }
}
