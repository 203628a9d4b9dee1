import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { sql } from 'kysely'
import { rollPeriods } from '../src/domain/accounts/periods.ts'
import type { StandingChange } from '../src/domain/accounts/standing.ts'
import { collide, holdOrganization } from './forced-race.ts'
import { startTestServer } from './harness.ts'
import { accountOf, noticesOf, passDays, passHours, setStanding } from './standing-clock.ts'
import { mailsAreQueued, standingPeople } from './standing-people.ts'

/* Several workers, workers that die, and any order of states and time. */

const server = await startTestServer({ after }, mailsAreQueued)
const { db } = server.app
const { person, run, moveTo, statesOf, advance, mailsTo, kept } = standingPeople(server)

test('workers that look at the same time give each notice once, and stop each machine once', async () => {
  const owner = await person('pro')
  const { organizationId: id } = owner
  await run(owner.call, 3)
  await setStanding(db, id, { state: 'past_due' })
  await race(id)
  await setStanding(db, id, { state: 'canceled', planEndsAt: new Date() })
  await passHours(db, id, 1.1)
  await race(id)
  await advance()
  assert.deepEqual(await noticesOf(db, id), ['past_due', 'machines_stop'])
  await passDays(db, id, 1)
  await race(id)
  assert.deepEqual(await statesOf(id), ['running', 'stopping', 'stopping'])
  assert.deepEqual(await noticesOf(db, id), ['past_due', 'machines_stop', 'machines_stopped'])
  assert.equal((await mailsTo(owner.email)).length, 3)
  const { rows: events } = await sql<{ count: number }>`
    select count(*)::int as count from machine_events
    where organization_id = ${id} and to_state = 'stopping' group by machine_id`.execute(db)
  assert.deepEqual(events, [{ count: 1 }, { count: 1 }])
  const { rows: states } = await sql<{ message: string }>`
    select message from audit_events
    where organization_id = ${id} and type = 'organization.state_changed' order by id`.execute(db)
  assert.deepEqual(
    states.map(({ message }) => message),
    ['from active to past_due', 'from past_due to canceled', 'from canceled to active'],
  )
})

for (const table of ['mails', 'machine_events', 'billing_periods', 'audit_events']) {
  test(`a worker that dies as it writes ${table} leaves nothing half done`, async (t) => {
    const owner = await person('pro')
    const { organizationId: id } = owner
    await run(owner.call, 2)
    await setStanding(db, id, { state: 'canceled', planEndsAt: new Date(Date.now() + 3_600_000) })
    const events = table === 'billing_periods' ? 'insert or update' : 'insert'
    await sql`create function die() returns trigger language plpgsql
      as $$ begin raise exception 'killed'; end $$`.execute(db)
    t.after(() => sql`drop function if exists die cascade`.execute(db))
    let deaths = 0
    // To the announcement, then to the fall and to the stop.
    for (const hours of [1, 25]) {
      await passHours(db, id, hours)
      await sql`create trigger die before ${sql.raw(events)} on ${sql.table(table)}
        execute function die()`.execute(db)
      const before = await everything(id)
      const failure = await advance().then(
        () => null,
        (error: AggregateError) => error,
      )
      if (failure) {
        deaths += 1
        assert.match(String(failure.errors[0]), /killed/)
        assert.deepEqual(await everything(id), before)
      }
      await sql`drop trigger die on ${sql.table(table)}`.execute(db)
      await advance()
    }
    assert.ok(deaths > 0)
    assert.deepEqual(await statesOf(id), ['running', 'stopping'])
    assert.deepEqual(await noticesOf(db, id), ['machines_stop', 'machines_stopped'])
    assert.equal((await mailsTo(owner.email)).length, 2)
    assert.equal((await accountOf(db, id)).state, 'active')
  })
}

test('a machine that is on its way when the others stop is stopped once it runs', async () => {
  const owner = await person('pro')
  const { organizationId: id, call } = owner
  const [, second] = await run(call, 2)
  await setStanding(db, id, { state: 'canceled', planEndsAt: new Date() })
  await passHours(db, id, 1.1)
  await advance()
  // A restart counts as running all the time.
  assert.equal((await call('POST', `/v1/machines/${second}/restart`)).status, 202)
  await passDays(db, id, 1)
  await advance()
  assert.deepEqual(await statesOf(id), ['running', 'stopping'])
  await passHours(db, id, 0.1)
  await advance()
  await moveTo(second!, 'running')
  await passHours(db, id, 0.1)
  await advance()
  assert.deepEqual(await statesOf(id), ['running', 'stopping'])
  // It cannot be stopped, and runs on: it is tried again, and told once.
  await passHours(db, id, 0.1)
  await advance()
  await moveTo(second!, 'running')
  await sql`update machines set wanted = 'running' where id = ${second}`.execute(db)
  await passHours(db, id, 0.1)
  await advance()
  assert.deepEqual(await statesOf(id), ['running', 'stopping'])
  await moveTo(second!, 'stopped')
  await passHours(db, id, 0.1)
  await advance()
  assert.equal((await accountOf(db, id)).machines_stop_at, null)
  assert.deepEqual(await noticesOf(db, id), ['machines_stop', 'machines_stopped'])
})

test('a start that collides with the stop takes no place beyond the plan', async () => {
  const owner = await person('pro')
  const { organizationId: id, call } = owner
  const [first] = await run(call, 2)
  assert.equal((await call('POST', `/v1/machines/${first}/stop`)).status, 202)
  await moveTo(first!, 'stopped')
  await setStanding(db, id, { state: 'canceled', planEndsAt: new Date(Date.now() - 1_000) })
  const start = () => call('POST', `/v1/machines/${first}/start`).then(({ status }) => status)
  const [status] = await collide<unknown>(db, holdOrganization(id), [start, advance])
  await advance()
  // Either it was first and is announced, or the plan was and it is refused.
  const { machines_stop_at: stopAt } = await accountOf(db, id)
  assert.deepEqual([status, stopAt === null], status === 202 ? [202, false] : [402, true])
  if (status !== 202) return
  await passHours(db, id, 1.1)
  await advance()
  await passDays(db, id, 1)
  await advance()
  assert.deepEqual(await statesOf(id), ['starting', 'stopping'])
})

const step = fc.oneof(
  fc.record({
    change: fc.oneof(
      fc.constantFrom<StandingChange>(
        { state: 'active' },
        { state: 'past_due' },
        { state: 'canceled' },
        { state: 'canceled', planEndsAt: new Date() },
      ),
      fc
        .tuple(fc.integer({ min: -2, max: 40 }), fc.boolean())
        .map(([days, endsPlan]): StandingChange => ({
          state: 'trialing',
          trialEndsAt: new Date(Date.now() + days * 86_400_000),
          endsPlan,
        })),
    ),
  }),
  fc.record({ hours: fc.constantFrom(1, 13, 24, 25, 72, 168, 400) }),
  fc.record({ settle: fc.constant(true) }),
)

test('no order of states and time deletes a machine, a snapshot or a template', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async (steps) => {
      const owner = await person('pro')
      const { organizationId: id } = owner
      const machines = await run(owner.call, 2)
      const made = await owner.call('POST', '/v1/snapshots', { machine_id: machines[0] })
      assert.equal(made.status, 202)
      const before = await kept(id)
      assert.equal(before.length, 3)
      for (const one of steps) {
        if ('change' in one) await setStanding(db, id, one.change)
        else if ('hours' in one) await passHours(db, id, one.hours)
        else await settle(id)
        await rollPeriods(db)
        await advance()
        const states = await statesOf(id)
        assert.ok(states.every((state) => ['running', 'stopping', 'stopped'].includes(state)))
        assert.deepEqual(
          (await kept(id)).filter((one_) => before.includes(one_)),
          before,
        )
        // Exactly one open period, and the first machine is never the one that is stopped.
        assert.equal(states[0], 'running')
      }
    }),
    { numRuns: 25 },
  )
})

/** The stops that were requested are done. */
async function settle(id: `org_${string}`): Promise<void> {
  const stopping = await db
    .selectFrom('machines')
    .select('id')
    .where('organization_id', '=', id)
    .where('state', '=', 'stopping')
    .execute()
  for (const machine of stopping) await moveTo(machine.id, 'stopped')
}

async function race(id: `org_${string}`): Promise<void> {
  await collide(db, holdOrganization(id), [advance, advance, advance])
}

async function everything(id: `org_${string}`) {
  return {
    account: await accountOf(db, id),
    states: await statesOf(id),
    notices: await noticesOf(db, id),
    periods: (
      await sql`select * from billing_periods where organization_id = ${id}
      order by id`.execute(db)
    ).rows,
  }
}
