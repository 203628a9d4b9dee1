import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { getEntitlements } from '../src/domain/accounts/plans.ts'
import {
  changeStanding,
  requirePaid,
  type StandingChange,
} from '../src/domain/accounts/standing.ts'
import { onDisksOf } from './disks.ts'
import { holdOrganization, collide } from './forced-race.ts'
import { startTestServer } from './harness.ts'
import { accountOf, passDays, passHours, setStanding } from './standing-clock.ts'

/* Every state of an account, and every action on machines in it, through HTTP. */

const server = await startTestServer({ after })
const { db, config } = server.app
const { call } = server
const disks = onDisksOf(server)
const { id: home } = await db.selectFrom('organizations').select('id').executeTakeFirstOrThrow()

const hour = 3_600_000
const trial = { state: 'trialing', trialEndsAt: new Date(Date.now() + 100 * 24 * hour) } as const

/** Each from an active account on: what changes, and how much time passes then. */
const states: Record<string, { changes: StandingChange[]; hours?: number; isRefused?: boolean }> = {
  active: { changes: [] },
  trialing: { changes: [trial] },
  'past due since now': { changes: [{ state: 'past_due' }] },
  'past due, at the end of the grace': { changes: [{ state: 'past_due' }], hours: 7 * 24 - 0.1 },
  'past due for longer': { changes: [{ state: 'past_due' }], hours: 7 * 24, isRefused: true },
  canceled: { changes: [{ state: 'canceled', planEndsAt: trial.trialEndsAt }] },
  'canceled, and past due for longer': {
    changes: [{ state: 'past_due' }, { state: 'canceled', planEndsAt: trial.trialEndsAt }],
    hours: 7 * 24,
    isRefused: true,
  },
  'paid again': { changes: [{ state: 'past_due' }], hours: 8 * 24 },
}

for (const [name, { changes, hours = 0, isRefused = false }] of Object.entries(states)) {
  test(`an account that is ${name} ${isRefused ? 'starts no machine' : 'allows everything'}`, async () => {
    await setStanding(db, home, { state: 'active' })
    const busy = (await server.machine()).id
    const idle = (await server.machine({ start: false })).id
    const doomed = (await server.machine({ start: false })).id
    const snapshot = await disks.snapshot(busy)
    for (const change of changes) await setStanding(db, home, change)
    await passHours(db, home, hours)
    if (name === 'paid again') await setStanding(db, home, { state: 'active' })

    const { body } = await call('GET', '/v1/billing')
    const running = body.limits[0].current as number
    const starting = {
      create: () => call('POST', '/v1/machines', {}),
      'create without starting': () => call('POST', '/v1/machines', { start: false }),
      start: () => call('POST', `/v1/machines/${idle}/start`),
      fork: () => call('POST', `/v1/machines/${busy}/fork`, {}),
      'fork a snapshot': () =>
        call('POST', `/v1/machines/${busy}/fork`, { snapshot_id: snapshot.id }),
    }
    for (const [action, run] of Object.entries(starting)) {
      const answer = await run()
      if (!isRefused) {
        assert.ok(answer.status < 300, `${action}: ${JSON.stringify(answer.body)}`)
        continue
      }
      assert.equal(answer.status, 402, action)
      assert.match(answer.body.error.message, /^a payment is due since 20.* until it is paid$/)
      assert.deepEqual(answer.body.error.quota, {
        limit: 'running_machines',
        current: running,
        maximum: 0,
        plan_id: 'startup',
        upgrade_url: `${config.dashboardUrl}/billing`,
      })
    }
    // What runs goes on, and what exists can be used, copied and removed.
    const allowed = {
      exec: () => call('POST', `/v1/machines/${busy}/exec`, { command: ['true'] }),
      snapshot: () => call('POST', '/v1/snapshots', { machine_id: busy }),
      template: () =>
        call('POST', '/v1/templates', { name: `Copy for ${name}`, snapshot_id: snapshot.id }),
      session: () => call('POST', '/v1/sessions', { machine_id: busy }),
      rename: () => call('PATCH', `/v1/machines/${busy}`, { name: `renamed-${busy.slice(-8)}` }),
      restart: () => call('POST', `/v1/machines/${busy}/restart?wait=20`),
      restore: () => disks.restore(busy, snapshot.id, '?wait=20'),
      stop: () => call('POST', `/v1/machines/${busy}/stop?wait=20`),
      delete: () => call('DELETE', `/v1/machines/${doomed}`),
    }
    for (const [action, run] of Object.entries(allowed)) {
      const answer = await run()
      assert.ok(answer.status < 300, `${action}: ${JSON.stringify(answer.body)}`)
      if (action === 'restart' || action === 'restore') await disks.machineIn(busy, 'running')
    }
    const refusal = await db
      .transaction()
      .execute(async (tx) => requirePaid(await getEntitlements(tx, home), 0))
      .then(
        () => null,
        (error: { quota: { limit: string } }) => error.quota.limit,
      )
    assert.equal(refusal, isRefused ? 'running_machines' : null)
    await removeAll()
  })
}

test('the account says since when a payment is due and from when on starting is refused', async () => {
  await setStanding(db, home, { state: 'active' })
  await setStanding(db, home, { state: 'past_due' })
  const before = (await call('GET', '/v1/billing')).body
  const [since, refused] = [before.past_due_since, before.starting_refused_at].map(Date.parse)
  assert.equal(refused! - since!, 7 * 24 * hour)
  // It stays due since the first time, however often it is said.
  await passDays(db, home, 3)
  const { past_due_since: first } = await accountOf(db, home)
  await setStanding(db, home, { state: 'past_due' })
  assert.deepEqual((await accountOf(db, home)).past_due_since, first)
  await setStanding(db, home, { state: 'active' })
  const paid = (await call('GET', '/v1/billing')).body
  assert.deepEqual(
    [paid.state, paid.past_due_since, paid.starting_refused_at, paid.machines_stop_at],
    ['active', null, null, null],
  )
})

test('a start that waits while the grace ends is refused, and one that waits for the payment is not', async () => {
  await setStanding(db, home, { state: 'past_due' })
  await passDays(db, home, 6)
  const { id } = await server.machine({ start: false })
  const start = () => call('POST', `/v1/machines/${id}/start`)
  const [refused] = await collide(db, holdOrganization(home), [start], (tx) =>
    sql`update billing_accounts set past_due_since = now() - interval '7 days'
      where organization_id = ${home}`.execute(tx),
  )
  assert.equal(refused!.status, 402)
  const [started] = await collide(db, holdOrganization(home), [start], (tx) =>
    changeStanding(tx, home, { state: 'active' }),
  )
  assert.equal(started!.status, 202)
  await removeAll()
})

async function removeAll(): Promise<void> {
  const { body } = await call('GET', '/v1/machines?limit=100')
  for (const { id } of body.data) await call('DELETE', `/v1/machines/${id}`)
  for (const { id } of body.data) await disks.goneFrom(`/v1/machines/${id}`)
}
