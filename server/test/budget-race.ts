import type { MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { soakSize } from '../../scripts/soak/sizes.ts'
import type { Actor } from '../src/actor.ts'
import type { App } from '../src/app.ts'
import { openDatabase } from '../src/db/database.ts'
import { lockOrganization } from '../src/domain/accounts/organizations.ts'
import { requireBudgets } from '../src/domain/budgets/start-check.ts'
import { startMachine } from '../src/domain/machines/machines.ts'
import { ApiError } from '../src/errors.ts'
import { budgetFacts, type BudgetInput } from './budget-facts.ts'
import { collide, holdOrganization } from './forced-race.ts'
import { startTestServer } from './harness.ts'

const starts = 50
const { rounds, bare } = soakSize('races')

type Start = (app: App, actor: Actor, id: MachineId) => Promise<unknown>

/**
 * Tests that of starts that race for the last of a budget exactly one wins, in every round. All of them wait
 * for the organization's lock before the first one goes on. The budget is one of which 1 is left after the
 * seconds of compute.
 */
export async function testRace(
  last: string,
  input: BudgetInput & { readonly usedSeconds: number },
): Promise<void> {
  const server = await startTestServer({ after }, { worker: false })
  const { log } = server.app
  const db = openDatabase(server.databaseUrl, { log, maxConnections: starts + 2 })
  after(() => db.destroy())
  const app = { ...server.app, db }
  const facts = budgetFacts(server)

  const race = async (start: Start, rounds: number) => {
    const { actor, organizationId, budget, machine, read } = await facts.newOrganization()
    const { usedSeconds, ...rest } = input
    const limited = await budget({ action: 'refuse', ...rest })
    const ids: MachineId[] = []
    for (let index = 0; index < starts; index++) {
      ids.push((await machine({ size: 'standard' })).id)
    }
    await facts.compute(limited, usedSeconds, { machineId: ids[0]! })
    await facts.settle(limited)
    assert.equal((await read(limited)).remaining, '1.000000')

    const attempt = (id: MachineId) => async (): Promise<MachineId | null> => {
      try {
        await start(app, actor, id)
        return id
      } catch (error) {
        assert.ok(error instanceof ApiError && error.code === 'quota_exceeded', String(error))
        return null
      }
    }
    for (let round = 0; round < rounds; round++) {
      const answers = await collide(db, holdOrganization(organizationId), ids.map(attempt))
      assert.equal(answers.filter((id) => id !== null).length, 1)
      await sql`update machines set state = 'stopped', wanted = 'stopped'
        where organization_id = ${organizationId} and state = 'starting'`.execute(db)
    }
  }

  test(`of ${starts} starts at once exactly one gets the last ${last}, ${rounds} times`, () =>
    race(startMachine, rounds))
  // The rest of a start decides nothing, and takes three times as long.
  test(`the same of what a start does with budgets, ${bare} times`, () => race(startByBudget, bare))
}

/** What a start does under the organization's lock, as far as budgets see it. */
async function startByBudget(app: App, actor: Actor, id: MachineId): Promise<void> {
  await app.db.transaction().execute(async (tx) => {
    await lockOrganization(tx, actor)
    await requireBudgets(tx, actor, { id, size: 'standard', labels: sql`'{}'::jsonb` })
    await sql`update machines set state = 'starting', wanted = 'running' where id = ${id}`.execute(
      tx,
    )
  })
}
