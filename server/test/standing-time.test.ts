import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { rollPeriods } from '../src/domain/accounts/periods.ts'
import { monthStart, moveOpenPeriod, periodsOf } from './billing-clock.ts'
import { startTestServer } from './harness.ts'
import { accountOf, noticesOf, passDays, passHours, setStanding } from './standing-clock.ts'
import { mailsAreQueued, standingPeople } from './standing-people.ts'

/* What time does to accounts that are due, on trial or canceled. */

const server = await startTestServer({ after }, mailsAreQueued)
const { db } = server.app
const { person, run, moveTo, statesOf, advance, mailsTo, kept } = standingPeople(server)
const daysFromNow = (days: number) => new Date(Date.now() + days * 86_400_000)

test('owners hear at once of a payment that is due, and a day before starting is refused', async () => {
  const owner = await person('pro')
  const { organizationId: id } = owner
  const [one] = await run(owner.call, 1)
  await setStanding(db, id, { state: 'past_due' })
  await setStanding(db, id, { state: 'past_due' })
  await advance()
  await advance()
  assert.deepEqual(await noticesOf(db, id), ['past_due'])
  await passHours(db, id, 6 * 24 - 0.1)
  await advance()
  assert.deepEqual(await noticesOf(db, id), ['past_due'])
  await passHours(db, id, 0.1)
  await advance()
  await passDays(db, id, 20)
  await advance()
  assert.deepEqual(await noticesOf(db, id), ['past_due', 'starting_refused'])
  const mails = await mailsTo(owner.email)
  assert.deepEqual(
    mails.map(({ subject }) => subject.replaceAll(/\d/g, '0')),
    [
      `A payment for ${owner.email.split('@')[0]}'s organization is due`.replaceAll(/\d/g, '0'),
      `From 0000-00-00 00:00 UTC on, no machine of ${owner.email.split('@')[0]}'s organization can be started`.replaceAll(
        /\d/g,
        '0',
      ),
    ],
  )
  assert.ok(mails.every(({ body }) => body.includes(`${server.app.config.dashboardUrl}/billing`)))
  // What runs goes on, for however long.
  assert.deepEqual(await statesOf(id), ['running'])
  assert.equal((await accountOf(db, id)).standing_due_at, null)

  // After the payment, another one that is due is another occasion. Nothing has started by itself.
  await moveTo((await stop(owner.call, one!)).id, 'stopped')
  await setStanding(db, id, { state: 'active' })
  await advance()
  assert.deepEqual(await statesOf(id), ['stopped'])
  assert.equal((await owner.call('POST', `/v1/machines/${one}/start`)).status, 202)
  await setStanding(db, id, { state: 'past_due' })
  await advance()
  assert.deepEqual((await noticesOf(db, id)).toSorted(), [
    'past_due',
    'past_due',
    'starting_refused',
  ])
})

test('only owners who can sign in get mail, and a server that was off sends what still matters', async () => {
  const owner = await person('pro')
  const { organizationId: id } = owner
  const [disabled, member] = [await person(), await person()]
  for (const [user, role] of [
    [disabled, 'owner'],
    [member, 'admin'],
  ] as const) {
    const membership = { organization_id: id, user_id: user.id, role }
    await db
      .insertInto('memberships')
      .values({ id: `mem_${user.id.slice(4)}`, ...membership })
      .execute()
  }
  await db
    .updateTable('users')
    .set({ disabled_at: new Date() })
    .where('id', '=', disabled.id)
    .execute()
  await setStanding(db, id, { state: 'past_due' })
  await passDays(db, id, 8)
  await advance()
  assert.deepEqual(await noticesOf(db, id), ['starting_refused'])
  assert.deepEqual(
    await Promise.all(
      [owner, disabled, member].map(async ({ email }) => (await mailsTo(email)).length),
    ),
    [1, 0, 0],
  )
})

test('a trial ends with the sign-up plan; what runs beyond it is announced, then stopped, newest first', async () => {
  const owner = await person('pro')
  const { organizationId: id, call } = owner
  await setStanding(db, id, { state: 'trialing', trialEndsAt: daysFromNow(10), endsPlan: true })
  const machines = await run(call, 3)
  const before = await kept(id)
  await advance()
  const { body } = await call('GET', '/v1/billing')
  assert.deepEqual(
    [body.state, body.plan.id, body.next_plan_id, body.next_plan_at, body.machines_stop_at],
    ['trialing', 'pro', 'free', body.trial_ends_at, body.trial_ends_at],
  )
  await passDays(db, id, 7)
  await advance()
  assert.deepEqual(await noticesOf(db, id), ['trial_ending'])
  await passDays(db, id, 2)
  await advance()
  assert.deepEqual(await noticesOf(db, id), ['trial_ending', 'machines_stop'])
  assert.deepEqual(await statesOf(id), ['running', 'running', 'running'])
  const [, announced] = await mailsTo(owner.email)
  const names = await namesOf(call, machines)
  assert.ok(!announced!.body.includes(`- ${names[0]}\n`), announced!.body)
  assert.ok(announced!.body.includes(`- ${names[1]}\n- ${names[2]}\n`), announced!.body)

  await passDays(db, id, 1)
  await advance()
  assert.deepEqual(await statesOf(id), ['running', 'stopping', 'stopping'])
  const fallen = (await call('GET', '/v1/billing')).body
  assert.deepEqual(
    [fallen.state, fallen.plan.id, fallen.trial_ends_at, fallen.next_plan_id],
    ['active', 'free', null, null],
  )
  const events = (await call('GET', `/v1/machines/${machines[2]}/events`)).body.data
  assert.deepEqual(
    [events[0].type, events[0].to_state, events[0].message],
    [
      'machine.updated',
      'stopping',
      'stopped because with the plan free, 1 machine may run at the same time',
    ],
  )
  await advance()
  for (const machine of machines.slice(1)) await moveTo(machine, 'stopped')
  await passHours(db, id, 1)
  await advance()
  assert.deepEqual(await noticesOf(db, id), ['trial_ending', 'machines_stop', 'machines_stopped'])
  assert.equal((await mailsTo(owner.email)).length, 3)
  assert.deepEqual(await kept(id), before)
  const done = await accountOf(db, id)
  assert.deepEqual([done.machines_stop_at, done.standing_due_at], [null, null])
  const start = await call('POST', `/v1/machines/${machines[1]}/start`)
  assert.deepEqual([start.status, start.body.error.quota.maximum], [402, 1])
  const log = await call('GET', '/v1/audit-events?type=organization.state_changed')
  assert.deepEqual(
    log.body.data.map((entry: { message: string }) => entry.message.replace(/ until .*/, '')),
    ['from trialing to active', 'from active to trialing'],
  )
})

test('a trial that a provider ends goes on until it says so', async () => {
  const owner = await person('pro')
  const { organizationId: id } = owner
  await setStanding(db, id, { state: 'trialing', trialEndsAt: daysFromNow(4) })
  await run(owner.call, 2)
  await passDays(db, id, 5)
  await advance()
  const { state, machines_stop_at: stopAt } = await accountOf(db, id)
  assert.deepEqual([state, stopAt], ['trialing', null])
  assert.equal((await owner.call('GET', '/v1/billing')).body.plan.id, 'pro')
})

test('a canceled plan goes on until the end of the period, which then has the sign-up plan', async () => {
  const owner = await person('pro')
  const { organizationId: id, call } = owner
  await moveOpenPeriod(db, id, { start: monthStart(0), end: monthStart(1) })
  const [oldest, newest] = await run(call, 2)
  await setStanding(db, id, { state: 'canceled' })
  await advance()
  const { body } = await call('GET', '/v1/billing')
  assert.deepEqual(
    [body.state, body.plan.id, body.next_plan_id, body.next_plan_at],
    ['canceled', 'pro', 'free', monthStart(1).toISOString()],
  )
  assert.equal((await accountOf(db, id)).next_plan_id, 'free')
  const hours = Math.ceil((monthStart(1).getTime() - Date.now()) / 3_600_000)
  // The period rolls by itself: no worker has looked at the account.
  await passHours(db, id, hours)
  await rollPeriods(db)
  const plans = (await periodsOf(db, id)).map(({ plan_id, status }) => [plan_id, status])
  assert.deepEqual(plans.slice(-2), [
    ['pro', 'closing'],
    ['free', 'open'],
  ])
  assert.equal((await call('GET', '/v1/billing')).body.state, 'canceled')
  await advance()
  assert.equal((await accountOf(db, id)).state, 'active')
  // The worker was off, so the announcement is late, and the stop with it.
  assert.deepEqual(await statesOf(id), ['running', 'running'])
  await passHours(db, id, 23)
  await advance()
  assert.deepEqual(await statesOf(id), ['running', 'running'])
  await passHours(db, id, 1)
  await advance()
  assert.deepEqual(await statesOf(id), ['running', 'stopping'])
  assert.ok(oldest! < newest!)
  assert.deepEqual(await noticesOf(db, id), ['machines_stop', 'machines_stopped'])
})

test('a plan that was paid until a time that has passed ends at once, with a day of notice', async () => {
  const owner = await person('pro')
  const { organizationId: id } = owner
  await run(owner.call, 2)
  await setStanding(db, id, { state: 'canceled', planEndsAt: daysFromNow(-1) })
  const announced = (await owner.call('GET', '/v1/billing')).body.machines_stop_at
  assert.ok(Date.parse(announced) > Date.now() + 24 * 3_600_000)
  await advance()
  assert.equal((await owner.call('GET', '/v1/billing')).body.plan.id, 'free')
  const { machines_stop_at: stopAt } = await accountOf(db, id)
  assert.ok(stopAt!.getTime() > Date.now() + 23.9 * 3_600_000)
  await passHours(db, id, 1.1)
  await advance()
  assert.deepEqual(await noticesOf(db, id), ['machines_stop'])
  await passHours(db, id, 24)
  await advance()
  assert.deepEqual(await statesOf(id), ['running', 'stopping'])
})

test('a canceled account that is paid again keeps its plan, and nothing is stopped', async () => {
  const owner = await person('pro')
  const { organizationId: id } = owner
  await run(owner.call, 2)
  await setStanding(db, id, { state: 'canceled' })
  await advance()
  assert.equal((await accountOf(db, id)).next_plan_id, 'free')
  await setStanding(db, id, { state: 'active' })
  const account = await accountOf(db, id)
  assert.deepEqual([account.next_plan_id, account.machines_stop_at], [null, null])
  await passDays(db, id, 70)
  await rollPeriods(db)
  await advance()
  assert.equal((await owner.call('GET', '/v1/billing')).body.plan.id, 'pro')
  assert.deepEqual(await statesOf(id), ['running', 'running'])
  assert.deepEqual(await noticesOf(db, id), [])
})

test('a higher plan, or others that are stopped, call an announced stop off', async () => {
  const owner = await person('pro')
  const { organizationId: id, call } = owner
  const [first] = await run(call, 2)
  await setStanding(db, id, { state: 'canceled', planEndsAt: daysFromNow(-1) })
  await passHours(db, id, 2)
  await advance()
  assert.deepEqual(await noticesOf(db, id), ['machines_stop'])
  await stop(call, first!)
  await moveTo(first!, 'stopped')
  await passHours(db, id, 24)
  await advance()
  assert.deepEqual(await statesOf(id), ['stopped', 'running'])
  assert.equal((await accountOf(db, id)).machines_stop_at, null)
})

test('a deleted organization is left alone, whatever a provider still tells of it', async () => {
  const owner = await person('pro')
  const { organizationId: id } = owner
  await setStanding(db, id, { state: 'past_due' })
  await db
    .updateTable('organizations')
    .set({ deleted_at: new Date() })
    .where('id', '=', id)
    .execute()
  await advance()
  await passDays(db, id, 60)
  await rollPeriods(db)
  await setStanding(db, id, { state: 'canceled' })
  await advance()
  const account = await accountOf(db, id)
  assert.deepEqual([account.state, account.standing_due_at], ['past_due', null])
  assert.deepEqual(await noticesOf(db, id), [])
})

async function stop(call: typeof server.call, id: string) {
  const { status, body } = await call('POST', `/v1/machines/${id}/stop`)
  assert.equal(status, 202)
  return body as { id: string }
}

async function namesOf(call: typeof server.call, ids: readonly string[]): Promise<string[]> {
  return Promise.all(
    ids.map(async (id) => (await call('GET', `/v1/machines/${id}`)).body.name as string),
  )
}
