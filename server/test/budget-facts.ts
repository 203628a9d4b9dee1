import type { ApiKeyId, Budget, MachineSize } from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../src/actor.ts'
import type { Database } from '../src/db/database.ts'
import { settleBudget } from '../src/domain/budgets/settling.ts'
import { findBudgets } from '../src/domain/budgets/use.ts'
import { createMachine } from '../src/domain/machines/creation.ts'
import { newId } from '../src/ids.ts'
import type { Call, TestServer } from './harness.ts'
import { givePlan } from './plans.ts'

type Use = {
  readonly machineId: string
  readonly actor?: { readonly type: 'user' | 'api_key'; readonly id: string }
  readonly labels?: Readonly<Record<string, string>>
}

export type BudgetInput = Omit<Partial<Budget>, 'limit'> & { readonly limit?: Budget['limit'] }

/** Organizations with budgets, and what they used. */
export function budgetFacts(server: TestServer) {
  const { db } = server.app
  return {
    /** An owner of a new organization, whose plan limits nothing that a test needs. */
    async newOrganization() {
      const actor = await server.user('owner', 'stranger')
      const { organizationId, userId } = actor
      // Mails go to owners who can sign in.
      await sql`update users set password_hash = 'of no password' where id = ${userId}`.execute(db)
      const terms = { machines: 300, running_machines: 300, largest_size: 'large' }
      await givePlan(db, { terms }, organizationId)
      const call = server.as(actor)
      return {
        actor,
        organizationId,
        call,
        ...callsOf(db, call),
        machine: restingMachine(server, actor),
      }
    },
    keyOf: (actor: Actor) => server.apiKey({ creator: actor }),
    setLabelKeys: (organizationId: string, keys: readonly string[]) =>
      sql`update organizations set label_keys = ${keys} where id = ${organizationId}`.execute(db),
    /**
     * Compute of so many seconds, each at the start of the budget's window, so that it is within the window
     * however early that is.
     */
    async compute(
      budget: Budget,
      seconds: number,
      { size = 'standard', ...use }: Use & { size?: string },
    ) {
      const { type, id, labels } = attribution(use)
      await sql`
        insert into meter_intervals (organization_id, machine_id, meter, size, started_at, ended_at,
          actor_type, actor_id, labels)
        select ${budget.organization_id}, ${use.machineId}, 'compute', ${size}, at, at + interval '1 second',
          ${type}, ${id}, ${labels}::jsonb
        from (select date_trunc('second', ${budget.window_start}::timestamptz) as at) as start,
          generate_series(1, ${seconds}::integer)`.execute(db)
      await unsettle(budget)
    },
    async storage(budget: Budget, byteSeconds: number, use: Use & { meter?: string }) {
      const { type, id, labels } = attribution(use)
      await sql`
        insert into meter_intervals (organization_id, machine_id, meter, bytes, started_at, ended_at,
          actor_type, actor_id, labels)
        select ${budget.organization_id}, ${use.machineId}, ${use.meter ?? 'hot_storage'}, ${byteSeconds},
          at, at + interval '1 second', ${type}, ${id}, ${labels}::jsonb
        from (select date_trunc('second', ${budget.window_start}::timestamptz) as at) as start`.execute(
        db,
      )
      await unsettle(budget)
    },
    async egress(budget: Budget, bytes: number, use: Use) {
      const { type, id, labels } = attribution(use)
      await sql`
        insert into egress_counts (flush_id, machine_id, organization_id, bytes, counted_at,
          actor_type, actor_id, labels)
        values (${crypto.randomUUID()}, ${use.machineId}, ${budget.organization_id}, ${bytes},
          ${budget.window_start}, ${type}, ${id}, ${labels}::jsonb)`.execute(db)
      await unsettle(budget)
    },
    unsettle,
    /** Counts what is so long ago that it can no longer change. */
    async settle({ id }: Pick<Budget, 'id'>): Promise<void> {
      const [state] = await findBudgets(db, sql`b.id = ${id}`)
      await settleBudget(db, state!)
    },
  }

  /** Use in the past does not happen, so tests that insert it let it be counted. */
  async function unsettle({ id }: Pick<Budget, 'id'>): Promise<void> {
    await sql`update budget_windows set settled = '{}', settled_through = starts_at
      where budget_id = ${id}`.execute(db)
    await sql`update budgets set check_at = now() where id = ${id}`.execute(db)
  }
}

/** Since when budgets of `once` count, so that a test can insert what was used. */
const since = new Date('2026-01-01T00:00:00Z')

function callsOf(db: Database, call: Call) {
  return {
    /** A budget of `once` counts since long ago, unless it `isNew`. */
    async budget(input: BudgetInput = {}, { isNew = false } = {}): Promise<Budget> {
      const body = {
        name: `budget-${crypto.randomUUID()}`,
        limit: { type: 'standard_hours', value: '1' },
        window: 'once',
        ...input,
      }
      const { status, body: made } = await call('POST', '/v1/budgets', body)
      if (status !== 201) throw new Error(JSON.stringify(made))
      if (isNew || made.window !== 'once') return made
      // In one transaction: a worker that finds the budget without its window would record another one.
      await db.transaction().execute(async (tx) => {
        await sql`update budgets set created_at = ${since} where id = ${made.id}`.execute(tx)
        await sql`update budget_windows set starts_at = ${since}, settled = '{}', settled_through = ${since}
          where budget_id = ${made.id}`.execute(tx)
      })
      return { ...made, window_start: since.toISOString() }
    },
    async read({ id }: Pick<Budget, 'id'>): Promise<Budget> {
      return (await call('GET', `/v1/budgets/${id}`)).body
    },
  }
}

/** Makes stopped machines without the engine. They have no disk, which would cost something. */
function restingMachine(server: TestServer, actor: Actor) {
  return async (
    input: { readonly metadata?: Record<string, string>; readonly size?: MachineSize } = {},
    keyId?: ApiKeyId,
  ) => {
    const principal = keyId ? ({ type: 'api_key', id: keyId, name: 'A key' } as const) : null
    const maker = principal ? { ...actor, principal } : actor
    const asked = { metadata: {}, start: false, ...input }
    const machine = await createMachine(server.app, maker, newId('mch'), asked)
    await sql`update machines set state = 'stopped' where id = ${machine.id}`.execute(server.app.db)
    return machine
  }
}

function attribution({ actor, labels = {} }: Use) {
  return { type: actor?.type ?? null, id: actor?.id ?? null, labels: JSON.stringify(labels) }
}
