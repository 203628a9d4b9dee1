import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Readable } from 'node:stream'
import { sql } from 'kysely'
import { rollPeriods } from '../src/domain/accounts/periods.ts'
import { closePeriods } from '../src/domain/billing/closing.ts'
import { verifyPeriods } from '../src/domain/billing/verification.ts'
import { runAdminCommand } from '../src/host/admin/commands.ts'
import { readRequest } from '../src/host/admin/request.ts'
import { runAdmin } from './admin-process.ts'
import { endWait, monthStart, moveOpenPeriod, periodsOf } from './billing-clock.ts'
import { startTestServer } from './harness.ts'
import { accountOf } from './standing-clock.ts'
import { standingPeople } from './standing-people.ts'

/* Corrections of bills, states and trials, as an operator gives them beside a running server. */

const server = await startTestServer({ after }, { worker: false })
const { db } = server.app
const { person, advance } = standingPeople(server)
const operator = { type: 'operator', id: 'operator', name: 'root' } as const
const admin = (...words: string[]) => runAdmin(server.databaseUrl, ...words)

test('a bill is corrected in its open period, which keeps the correction when it is final', async () => {
  const { organizationId: id, call } = await person('pro')
  await moveOpenPeriod(db, id, { start: monthStart(-1), end: monthStart(1) })
  const credit = ['--cents', '-500', '--reason', 'An outage']
  const made = await admin('billing', 'adjust', id, ...credit)
  assert.equal(made.code, 0, made.stderr)
  assert.match(made.stdout, /^the bill of org_\w+ for 20\S+ to 20\S+ is changed by -5\.00 USD\n$/)
  const json = await admin('billing', 'adjust', id, '--cents', '120', '--reason', 'Help', '--json')
  assert.partialDeepStrictEqual(JSON.parse(json.stdout), {
    organization_id: id,
    amount_cents: 120,
    currency: 'usd',
    reason: 'Help',
  })
  const time = `?period=${monthStart(-1).toISOString()}`
  const read = async () => (await call('GET', `/v1/billing/usage-summary${time}`)).body
  const estimate = await read()
  const amounts = estimate.adjustments.map((one: { amount_cents: number; reason: string }) => [
    one.amount_cents,
    one.reason,
  ])
  assert.deepEqual(amounts, [
    [-500, 'An outage'],
    [120, 'Help'],
  ])
  assert.deepEqual([estimate.status, estimate.total_cents], ['estimate', -380])
  const log = (await call('GET', '/v1/audit-events?type=organization.bill_adjusted')).body.data
  assert.deepEqual(
    log.map((entry: { actor: { type: string }; message: string }) => [
      entry.actor.type,
      entry.message,
    ]),
    [
      ['operator', 'by 120 cents (usd): Help'],
      ['operator', 'by -500 cents (usd): An outage'],
    ],
  )

  await sql`update billing_periods set ends_at = ${monthStart(0)}
    where organization_id = ${id}`.execute(db)
  await rollPeriods(db)
  await endWait(db, id)
  await closePeriods(db)
  const final = await read()
  assert.deepEqual(
    [final.status, final.adjustments, final.total_cents],
    ['final', estimate.adjustments, -380],
  )
  assert.deepEqual(await verifyPeriods(db, id), { periods: 1, differences: [] })
  // Later corrections are of the open period.
  await run({ command: 'billing adjust', organizationId: id, cents: 7, reason: 'Late' })
  assert.deepEqual(await read(), final)
  const open = (await call('GET', '/v1/billing/usage-summary')).body
  assert.deepEqual([open.adjustments.length, open.total_cents], [1, 7])
})

test('no correction is ever changed, removed, or added to a period that has ended', async () => {
  const { organizationId: id } = await person('pro')
  await run({ command: 'billing adjust', organizationId: id, cents: 100, reason: 'A fee' })
  await moveOpenPeriod(db, id, { start: monthStart(-1), end: monthStart(0) })
  await rollPeriods(db)
  const [ended] = await periodsOf(db, id)
  const late = {
    period_id: ended!.id,
    amount_cents: 1,
    currency: 'usd',
    reason: 'x',
    operator: 'x',
  }
  await assert.rejects(
    db.insertInto('billing_adjustments').values(late).execute(),
    /billing period \d+ is not open/,
  )
  const rows = db.updateTable('billing_adjustments').where('period_id', '=', ended!.id)
  await assert.rejects(rows.set({ amount_cents: 1 }).execute(), /are never changed/)
  await assert.rejects(
    db.deleteFrom('billing_adjustments').where('period_id', '=', ended!.id).execute(),
    /are never changed/,
  )
  await endWait(db, id)
  await closePeriods(db)
  // A change behind the guard is found.
  await sql`alter table billing_adjustments disable trigger user`.execute(db)
  await rows.set({ amount_cents: 101 }).execute()
  await sql`alter table billing_adjustments enable trigger user`.execute(db)
  const { differences } = await verifyPeriods(db, id)
  assert.deepEqual(
    differences.map(({ meter, field, billed, recomputed }) => [meter, field, billed, recomputed]),
    [['adjustments', 'amountCents', 100n, 101n]],
  )
  await assert.rejects(run({ command: 'billing verify', organizationId: id }), /adjustments/)
})

test('a correction of nothing, without a reason, or of nobody is refused', async () => {
  const { organizationId: id } = await person()
  const adjust = { command: 'billing adjust', organizationId: id, cents: 5, reason: 'x' }
  await assert.rejects(run({ ...adjust, cents: 0 }), /cents: must not be 0/)
  await assert.rejects(run({ ...adjust, cents: 0.5 }), /cents: /)
  await assert.rejects(run({ ...adjust, cents: 1_000_000_001 }), /cents: /)
  await assert.rejects(run({ ...adjust, reason: '' }), /reason: /)
  await assert.rejects(run({ ...adjust, organizationId: nobody }), /no organization org_0/)
  const words = await admin('billing', 'adjust', id, '--cents', '1.5', '--reason', 'x')
  assert.notEqual(words.code, 0)
  assert.match(words.stderr, /whole number/)
})

test('a state is set, and what follows from it is shown', async () => {
  const { organizationId: id, call } = await person('pro')
  const due = await admin('org', 'set-state', id, 'past_due')
  assert.equal(due.code, 0, due.stderr)
  assert.match(due.stdout, /'s organization is past due since 20\S+\n$/)
  assert.equal((await call('GET', '/v1/billing')).body.state, 'past_due')
  const canceled = await admin('org', 'set-state', id, 'canceled', '--json')
  assert.deepEqual(
    [JSON.parse(canceled.stdout).state, JSON.parse(canceled.stdout).plan_ends_at],
    ['canceled', monthStart(1).toISOString()],
  )
  const active = await admin('org', 'set-state', id, 'active')
  assert.match(active.stdout, / is active\n$/)
  // Twice has no further effect, not even in the log.
  await run({ command: 'org set-state', organizationId: id, state: 'active' })
  const log = (await call('GET', '/v1/audit-events?type=organization.state_changed')).body.data
  assert.deepEqual(
    log.map((entry: { actor: { name: string }; message: string }) => entry.message),
    ['from canceled to active', 'from past_due to canceled', 'from active to past_due'],
  )
  assert.equal(log[0].actor.type, 'operator')
  const wrong = await admin('org', 'set-state', id, 'trialing')
  assert.notEqual(wrong.code, 0)
  await assert.rejects(
    run({ command: 'org set-state', organizationId: nobody, state: 'active' }),
    /no organization org_0/,
  )
})

test('a trial gives a plan at once and until a time, and another plan ends it', async () => {
  const { organizationId: id, call } = await person()
  const until = new Date(Date.now() + 5 * 86_400_000).toISOString()
  const made = await admin('org', 'set-trial', id, 'pro', '--until', until, '--limit', 'machines=3')
  assert.equal(made.code, 0, made.stderr)
  assert.match(made.stdout, / has the plan pro until 20\S+, and then the sign-up plan\n$/)
  const { body } = await call('GET', '/v1/billing')
  assert.deepEqual(
    [body.state, body.plan.id, body.trial_ends_at, body.next_plan_id, body.next_plan_at],
    ['trialing', 'pro', until, 'free', until],
  )
  assert.equal(body.limits[1].limit, 3)
  const past = await admin('org', 'set-trial', id, 'pro', '--until', '2020-01-01')
  assert.deepEqual([past.code, past.stdout], [1, ''])
  assert.match(past.stderr, /2020-01-01T00:00:00.000Z has passed; choose a later time/)
  await assert.rejects(
    run({ command: 'org set-trial', organizationId: id, planId: 'gold', limits: {}, until }),
    /unknown plan gold/,
  )

  const plan = { planId: 'developer', limits: {}, immediate: true }
  await run({ command: 'org set-plan', organizationId: id, ...plan })
  const after_ = (await call('GET', '/v1/billing')).body
  assert.deepEqual([after_.state, after_.trial_ends_at], ['active', null])
  await advance()
  assert.equal((await call('GET', '/v1/billing')).body.plan.id, 'developer')

  // A plan that is given to a canceled account stays, and what is owed stays owed.
  await run({ command: 'org set-state', organizationId: id, state: 'canceled' })
  await run({ command: 'org set-plan', organizationId: id, ...plan, planId: 'pro' })
  assert.equal((await accountOf(db, id)).state, 'active')
  await run({ command: 'org set-state', organizationId: id, state: 'past_due' })
  await run({ command: 'org set-plan', organizationId: id, ...plan, planId: 'startup' })
  assert.equal((await accountOf(db, id)).state, 'past_due')
})

const nobody = `org_${'0'.repeat(26)}`

async function run(request: object) {
  const command = readRequest(JSON.stringify(request))
  return runAdminCommand(server.app, operator, command, Readable.from([]))
}
