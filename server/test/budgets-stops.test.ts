import type { Budget } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { checkBudget, checkBudgets } from '../src/domain/budgets/checks.ts'
import { budgetFacts } from './budget-facts.ts'
import { collide, holdOrganization } from './forced-race.ts'
import { startTestServer } from './harness.ts'
import { eventually, settled } from './settled.ts'

const env = { COMPUTER_SMTP_URL: 'smtp://127.0.0.1:1' }
const server = await startTestServer({ after }, { worker: false, env })
const { app } = server
const { db } = app
const facts = budgetFacts(server)
const limit = { type: 'standard_hours', value: '0.01' } as const

test('without a budget, no check is due for a minute', async () => {
  assert.equal(await checkBudgets(app), 60_000)
})

test('a machine is stopped at the computed instant, once, and its event names the budget', async (t) => {
  const own = await startTestServer(t, { env })
  // A second worker checks the same budgets.
  own.startWorker()
  const ownFacts = budgetFacts(own)
  const { call, budget, read } = await ownFacts.newOrganization()
  const { body: machine } = await call('POST', '/v1/machines', { size: 'standard' })
  assert.equal(machine.state, 'running')
  const { body: other } = await call('POST', '/v1/machines', {})
  const scope = { type: 'machine', machine_id: machine.id } as const
  const limited = await budget({
    name: 'nightly',
    limit: { ...limit, value: '0.001' },
    action: 'stop',
    scope,
  })
  await settled({ call }, machine.id, 'stopped')
  const stops = await stopsOf(own.app.db, machine.id)
  assert.equal(stops.length, 1)
  const [stop] = stops
  // The limit is 3.6 seconds, and a second of use counts from its beginning.
  assert.ok(stop!.occurred_at.getTime() >= Date.parse(machine.started_at) + 2_600)
  const expected = `stopped by budget "nightly" (${limited.id}): 0.001 of 0.001 standard-hours of this budget used`
  assert.equal(stop!.message, expected)
  const after = await read(limited)
  assert.deepEqual([after.exhausted, after.remaining, after.exhausts_at], [true, '0.000000', null])
  assert.equal((await call('GET', `/v1/machines/${other.id}`)).body.state, 'running')
  // It stays stopped, and cannot be started.
  assert.equal((await call('POST', `/v1/machines/${machine.id}/start`)).status, 402)

  // Raised, it runs again, and is stopped again.
  await call('PATCH', `/v1/budgets/${limited.id}`, { limit: { ...limit, value: '100' } })
  assert.equal((await call('POST', `/v1/machines/${machine.id}/start?wait=20`)).status, 202)
  await settled({ call }, machine.id, 'running')
  await call('PATCH', `/v1/budgets/${limited.id}`, { limit: { ...limit, value: '0.0011' } })
  await settled({ call }, machine.id, 'stopped')
  assert.equal((await stopsOf(own.app.db, machine.id)).length, 2)
})

test('a budget that only notifies or refuses stops nothing', async () => {
  for (const action of ['notify', 'refuse'] as const) {
    const { run, limited } = await exhausted({ action })
    await checkBudget(app, limited.id)
    assert.equal(await stateOf(run), 'running')
  }
})

test('machines in the scope are stopped, those that start as soon as they run, and no others', async () => {
  const { machine, organizationId, limited, run, call } = await exhausted({ action: 'stop' })
  const [starting, creating, resting] = [await machine(), await machine(), await machine()]
  await setState(starting.id, 'starting')
  await setState(creating.id, 'creating')
  const elsewhere = await facts.newOrganization()
  const foreign = await elsewhere.machine()
  await setState(foreign.id, 'running')
  await checkBudget(app, limited.id)
  const all = [run, starting.id, creating.id, resting.id, foreign.id]
  const states = () => Promise.all(all.map(stateOf))
  assert.deepEqual(await states(), ['stopping', 'starting', 'creating', 'stopped', 'running'])
  await setState(starting.id, 'running')
  await setState(creating.id, 'running')
  await checkBudget(app, limited.id)
  assert.deepEqual(await states(), ['stopping', 'stopping', 'stopping', 'stopped', 'running'])
  const wanted = await sql<{ wanted: string }>`select distinct wanted from machines
    where organization_id = ${organizationId}`.execute(db)
  assert.deepEqual(wanted.rows, [{ wanted: 'stopped' }])
  // More than are stopped in one transaction.
  const many = []
  for (let index = 0; index < 60; index++) many.push((await machine()).id)
  for (const id of many) await setState(id, 'running')
  await checkBudget(app, limited.id)
  assert.deepEqual(new Set(await Promise.all(many.map(stateOf))), new Set(['stopping']))
  await call('DELETE', `/v1/budgets/${limited.id}`)
})

for (const first of ['raise', 'stop'] as const) {
  test(`of a stop and a raise at once the ${first} comes first, and both leave what they say`, async () => {
    for (let round = 0; round < 5; round++) {
      const { organizationId, limited, run, call } = await exhausted({ action: 'stop' })
      const calls = {
        raise: async () => {
          const change = { limit: { ...limit, value: '1' } }
          const { status } = await call('PATCH', `/v1/budgets/${limited.id}`, change)
          assert.equal(status, 200)
        },
        stop: () => checkBudget(app, limited.id),
      }
      const second = first === 'raise' ? 'stop' : 'raise'
      const follow = async () => {
        await eventually(async () => (await isOneWaiting()) || undefined)
        await calls[second]()
      }
      await collide(db, holdOrganization(organizationId), [calls[first], follow])
      const stops = (await stopsOf(db, run)).length
      const expected = first === 'stop' ? ['stopping', 1] : ['running', 0]
      assert.deepEqual([await stateOf(run), stops], expected)
    }
  })
}

test('two checks at once stop each machine once and send each mail once', async () => {
  for (let round = 0; round < 5; round++) {
    const { organizationId, limited, run } = await exhausted({ action: 'stop' })
    const check = () => checkBudget(app, limited.id)
    await collide(db, holdOrganization(organizationId), [check, check, check])
    assert.equal((await stopsOf(db, run)).length, 1)
    assert.equal((await mailsOf(limited)).length, 1)
  }
})

test('a check that dies before its commit leaves everything to the next', async () => {
  const { limited, run } = await exhausted({ action: 'stop' })
  await sql`create function die() returns trigger language plpgsql as
    $$ begin raise 'killed'; end $$`.execute(db)
  await sql`create trigger die before insert on machine_events for each row execute function die()`.execute(
    db,
  )
  await assert.rejects(checkBudget(app, limited.id), /killed/)
  await sql`drop trigger die on machine_events`.execute(db)
  assert.deepEqual([await stateOf(run), (await mailsOf(limited)).length], ['running', 0])
  await checkBudget(app, limited.id)
  assert.deepEqual([await stateOf(run), (await mailsOf(limited)).length], ['stopping', 1])
})

test('each threshold is told once in a window, and again only if a raise has moved it away', async () => {
  const { budget, machine, call, actor } = await facts.newOrganization()
  const { id: machineId } = await machine()
  const limited = await budget({ limit, thresholds: [50, 80, 100], action: 'refuse' })
  const subjects = async () => (await mailsOf(limited)).map(({ subject }) => subject)
  const say = (percent: number) => `${percent} % of the budget ${limited.name} is used`
  const useAndCheck = async (seconds: number) => {
    if (seconds > 0) await facts.compute(limited, seconds, { machineId })
    await checkBudget(app, limited.id)
    await checkBudget(app, limited.id)
    return subjects()
  }
  assert.deepEqual(await useAndCheck(17), [])
  assert.deepEqual(await useAndCheck(1), [say(50)])
  assert.deepEqual(await useAndCheck(10), [say(50)])
  assert.deepEqual(await useAndCheck(1), [say(50), say(80)])
  assert.deepEqual(await useAndCheck(7), [say(50), say(80), say(100)])
  const [first] = await mailsOf(limited)
  const { email } = await db
    .selectFrom('users')
    .select('email')
    .where('id', '=', actor.userId)
    .executeTakeFirstOrThrow()
  assert.equal(first!.recipient, email)
  assert.match(first!.body, /When nothing is left, machines that count for it cannot be started/)
  // Of twice as much, 50 % is used now, and neither 80 nor 100.
  await call('PATCH', `/v1/budgets/${limited.id}`, { limit: { ...limit, value: '0.02' } })
  assert.equal((await useAndCheck(0)).length, 3)
  assert.deepEqual((await useAndCheck(36)).slice(3), [say(100)])
  // The next window begins with none.
  await sql`update budget_windows set starts_at = starts_at - interval '1 day'
    where budget_id = ${limited.id}`.execute(db)
  assert.deepEqual((await useAndCheck(0)).slice(4), [say(100)])
})

test('a check plans the next one: at the next threshold, at the limit, or when the window ends', async () => {
  const { budget, machine, organizationId, read } = await facts.newOrganization()
  const { id: machineId } = await machine({ size: 'standard' })
  const limited = await budget({ limit, thresholds: [50] })
  await sql`insert into meter_intervals (organization_id, machine_id, meter, size, started_at)
    values (${organizationId}, ${machineId}, 'compute', 'standard',
      date_trunc('milliseconds', clock_timestamp()))`.execute(db)
  const planned = async () => {
    await checkBudget(app, limited.id)
    const { rows } = await sql<{ seconds: number }>`
      select ceil(date_part('epoch', b.check_at - i.started_at))::integer as seconds
      from budgets b, meter_intervals i
      where b.id = ${limited.id} and i.organization_id = b.organization_id`.execute(db)
    return rows[0]!.seconds
  }
  // 18 seconds are half of it: the last of them begins 17 to 18 seconds after the start.
  assert.ok([17, 18].includes(await planned()))
  await sql`update budgets set thresholds = '{}' where id = ${limited.id}`.execute(db)
  assert.ok([35, 36].includes(await planned()))
  const { exhausts_at: exhaustsAt } = await read(limited)
  const { check_at: checkAt } = await db
    .selectFrom('budgets')
    .select('check_at')
    .where('id', '=', limited.id)
    .executeTakeFirstOrThrow()
  assert.equal(exhaustsAt, checkAt.toISOString())
})

test('bytes that are counted, machines that run and changes make a check due at once', async () => {
  const { budget, machine, organizationId, call } = await facts.newOrganization()
  const { id: machineId } = await machine()
  const cents = { type: 'list_price_cents', value: '100' } as const
  const limited = await budget({ limit: cents, action: 'stop' })
  const checkedAt = async () => {
    await checkBudgets(app)
    const { checked_at: at } = await db
      .selectFrom('budgets')
      .select('checked_at')
      .where('id', '=', limited.id)
      .executeTakeFirstOrThrow()
    return at.getTime()
  }
  /** As if the last check were longer ago than what it overlaps with. */
  const age = () =>
    sql`update budgets set checked_at = now() - interval '20 seconds',
      check_at = now() + interval '40 seconds' where id = ${limited.id}`.execute(db)
  const isChecked = async () => {
    const before = Date.now()
    await age()
    return (await checkedAt()) > before - 10_000
  }
  assert.equal(await isChecked(), false)
  await sql`insert into egress_counts (flush_id, machine_id, organization_id, bytes)
    values ('1', ${machineId}, ${organizationId}, 1)`.execute(db)
  assert.equal(await isChecked(), true)
  await sql`delete from egress_counts`.execute(db)
  assert.equal(await isChecked(), false)
  await sql`insert into meter_intervals (organization_id, machine_id, meter, size, started_at)
    values (${organizationId}, ${machineId}, 'compute', 'small', now())`.execute(db)
  assert.equal(await isChecked(), true)
  await sql`delete from meter_intervals where organization_id = ${organizationId}`.execute(db)
  assert.equal(await isChecked(), false)
  await age()
  await call('PATCH', `/v1/budgets/${limited.id}`, { action: 'refuse' })
  const before = Date.now()
  assert.ok((await checkedAt()) > before - 10_000)
})

/** A budget that is used up, and a machine that runs. */
async function exhausted(input: { readonly action: Budget['action'] }) {
  const made = await facts.newOrganization()
  const run = (await made.machine()).id
  await setState(run, 'running')
  const limited = await made.budget({ limit, ...input })
  await facts.compute(limited, 36, { machineId: run })
  return { ...made, run, limited }
}

async function isOneWaiting(): Promise<boolean> {
  const { rows } = await sql`select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
  return rows.length > 0
}

async function setState(id: string, state: string): Promise<void> {
  await sql`update machines set state = ${state}, wanted = 'running' where id = ${id}`.execute(db)
}

async function stateOf(id: string): Promise<string> {
  const { rows } = await sql<{
    state: string
  }>`select state from machines where id = ${id}`.execute(db)
  return rows[0]!.state
}

function stopsOf(database: typeof db, id: string) {
  return database
    .selectFrom('machine_events')
    .selectAll()
    .where('machine_id', '=', id as `mch_${string}`)
    .where('to_state', '=', 'stopping')
    .orderBy('sequence')
    .execute()
}

function mailsOf({ name }: Pick<Budget, 'name'>) {
  return db
    .selectFrom('mails')
    .selectAll()
    .where('subject', 'like', `%${name}%`)
    .orderBy('id')
    .execute()
}
