import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { rollPeriods } from '../src/domain/accounts/periods.ts'
import { closePeriods } from '../src/domain/billing/closing.ts'
import { endWait, monthStart, moveOpenPeriod } from './billing-clock.ts'
import { billingFacts } from './billing-facts.ts'
import { startTestServer } from './harness.ts'
import { givePlan } from './plans.ts'

const server = await startTestServer({ after })
const { db } = server.app
const { newOrganization, use } = billingFacts(server)
const gibibyte = 2 ** 30

test('the account has the plan of its period and what is used of each limit', async () => {
  const { call, organizationId } = await newOrganization()
  await givePlan(db, { planId: 'pro', terms: { machines: 4 } }, organizationId)
  const { body: machine } = await call('POST', '/v1/machines', {})
  await call('POST', '/v1/machines', { start: false })
  await call('POST', '/v1/sessions', { machine_id: machine.id })
  const { status, body } = await call('GET', '/v1/billing')
  assert.equal(status, 200)
  assert.deepEqual(body.limits, [
    { key: 'running_machines', current: 1, limit: 10 },
    { key: 'machines', current: 2, limit: 4 },
    { key: 'templates', current: 0, limit: 25 },
    { key: 'members', current: 1, limit: 25 },
    { key: 'concurrent_sessions', current: 1, limit: 40 },
    { key: 'snapshots_per_machine', current: 0, limit: 25 },
  ])
  assert.deepEqual(body.plan, (await call('GET', '/v1/plans/pro')).body)
  assert.partialDeepStrictEqual(body, {
    organization_id: organizationId,
    state: 'active',
    next_plan_id: null,
    catalog_version: 1,
    largest_size: 'large',
    collects_payments: false,
    period_end: monthStart(1, new Date(body.period_start)).toISOString(),
  })
})

test('a summary separates quantity, included, billable and amount, and becomes final', async () => {
  const { call, organizationId } = await newOrganization()
  await moveOpenPeriod(db, organizationId, { start: monthStart(-1), end: monthStart(0) })
  await givePlan(db, { planId: 'developer' }, organizationId)
  // 250 hours of size standard, a disk of 100 GiB and a capture of 2 GiB for 100 hours.
  await use(organizationId, { hours: 250, size: 'standard' })
  await use(organizationId, { hours: 100, meter: 'cold_storage', bytes: 2 * gibibyte })
  await use(organizationId, { hours: 0, meter: 'hot_storage', bytes: 100 * gibibyte })

  await rollPeriods(db)
  const time = new Date(monthStart(0).getTime() - 1).toISOString()
  const read = async () => (await call('GET', `/v1/billing/usage-summary?period=${time}`)).body
  const estimate = await read()
  assert.deepEqual(
    [estimate.status, estimate.plan_id, estimate.period_start, estimate.period_end],
    ['estimate', 'developer', monthStart(-1).toISOString(), monthStart(0).toISOString()],
  )
  assert.deepEqual(lineOf(estimate, 'compute_standard_seconds'), {
    meter: 'compute_standard_seconds',
    unit: 'seconds',
    quantity: String(250 * 3600),
    included: String(120 * 3600),
    billable: String(130 * 3600),
    amount_cents: 1300,
    currency: 'usd',
  })
  assert.deepEqual(estimate.compute_credits, {
    included: '120.000000',
    used: '250.000000',
    remaining: '0.000000',
  })
  // 200 GiB-hours at 5 cents for 720 of them.
  assert.equal(lineOf(estimate, 'cold_storage_byte_seconds').amount_cents, 1)
  assert.equal(estimate.total_cents, 1301)
  assert.equal(estimate.lines.length, 6)

  await closePeriods(db)
  assert.equal((await read()).status, 'estimate')
  await endWait(db, organizationId)
  await Promise.all([closePeriods(db), closePeriods(db), closePeriods(db)])
  assert.deepEqual(await read(), { ...estimate, status: 'final' })

  // Nothing changes it any more: no later row, catalog or terms.
  await use(organizationId, { hours: 50, size: 'large' })
  await givePlan(db, { planId: 'free', terms: { included_standard_hours: 1 } }, organizationId)
  await closePeriods(db)
  assert.deepEqual(await read(), { ...estimate, status: 'final' })
  const now = (await call('GET', '/v1/billing/usage-summary')).body
  assert.deepEqual([now.status, now.period_start], ['estimate', monthStart(0).toISOString()])
})

test('a plan without overage has every line and costs nothing', async () => {
  const { call, organizationId } = await newOrganization()
  await moveOpenPeriod(db, organizationId, { start: monthStart(0), end: monthStart(1) })
  await givePlan(db, { planId: 'free' }, organizationId)
  await use(organizationId, { hours: 30, size: 'small' })
  const { body } = await call(
    'GET',
    `/v1/billing/usage-summary?period=${monthStart(0).toISOString()}`,
  )
  const line = lineOf(body, 'compute_small_seconds')
  assert.deepEqual(
    [line.included, line.billable, line.amount_cents],
    [String(10 * 3600), String(20 * 3600), 0],
  )
  assert.deepEqual([body.total_cents, body.lines.length], [0, 6])
})

test('an estimate says what an hour costs, and how long the included compute lasts', async () => {
  const { call, organizationId } = await newOrganization()
  await moveOpenPeriod(db, organizationId, { start: monthStart(0), end: monthStart(1) })
  const terms = { included_standard_hours: 1, included_hot_storage_bytes: 0 }
  await givePlan(db, { planId: 'pro', terms }, organizationId)
  const { body } = await call('POST', '/v1/billing/estimate', { size: 'large', count: 2 })
  assert.partialDeepStrictEqual(body, {
    size: 'large',
    count: 2,
    currency: 'usd',
    compute_cents_per_hour: '40.000000',
    // 100 GiB at 10 cents for 720 hours of a GiB.
    hot_storage_cents_per_hour: '1.388888',
    cents_per_hour: '41.388888',
    included_standard_hours: '1.000000',
    catalog_version: 1,
  })
  // A standard-hour lasts a quarter of an hour, unless the month ends before.
  const left = new Date(body.included_until ?? body.period_end).getTime() - Date.now()
  assert.ok(left < 16 * 60_000)

  const { body: machine } = await call('POST', '/v1/machines', { size: 'small', start: false })
  const start = await call('POST', '/v1/billing/estimate', { machine_id: machine.id })
  assert.deepEqual(
    [start.body.cents_per_hour, start.body.hot_storage_cents_per_hour],
    ['5.000000', '0.000000'],
  )
  await givePlan(db, { planId: 'free', terms: {} }, organizationId)
  const free = await call('POST', '/v1/billing/estimate', { size: 'small' })
  assert.equal(free.body.cents_per_hour, '0.000000')

  const bad = [{}, { size: 'small', machine_id: machine.id }, { machine_id: machine.id, count: 2 }]
  for (const body_ of bad) {
    assert.equal((await call('POST', '/v1/billing/estimate', body_)).status, 400)
  }
})

test('checkout and portal need a payment provider, and the permission', async () => {
  const checkout = { plan_id: 'pro', success_url: 'http://127.0.0.1:7080/billing' }
  const calls: [string, object][] = [
    ['/v1/billing/checkout', checkout],
    ['/v1/billing/portal', {}],
  ]
  const member = server.as(await server.user('admin'))
  for (const [path, body] of calls) {
    const refused = await server.as(await server.user('owner'))('POST', path, body)
    assert.deepEqual([refused.status, refused.body.error.code], [501, 'unsupported_operation'])
    assert.match(refused.body.error.message, /no payment provider; ask its operator/)
    assert.equal((await member('POST', path, body)).status, 403)
  }
})

test('a key with the scope usage:read reads usage and billing', async () => {
  const { call } = await server.apiKey({ scopes: ['usage:read'] })
  for (const path of ['/v1/plans', '/v1/usage', '/v1/usage/series', '/v1/billing'])
    assert.equal((await call('GET', path)).status, 200, path)
  assert.equal((await call('GET', '/v1/billing/usage-summary')).status, 200)
  assert.equal((await call('POST', '/v1/billing/portal', {})).status, 403)
})

// oxlint-disable-next-line typescript/no-explicit-any
function lineOf(summary: any, name: string) {
  return summary.lines.find(({ meter }: { meter: string }) => meter === name)
}
