import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startServer } from './server.ts'

const server = await startServer({ after })
const computer = server.connect()

test('the catalog, a plan and the account', async () => {
  const { data, catalogVersion, sizes, meters, prices } = await computer.plans.list()
  assert.deepEqual([data[0]!.id, catalogVersion], ['free', 1])
  assert.deepEqual(await computer.plans.get('free'), data[0])
  assert.ok(sizes.length === 3 && meters.length === 6 && prices.length === 4)
  await assert.rejects(computer.plans.get('gold'), { code: 'not_found' })
  const { plan, limits, state, nextPlanId, collectsPayments } = await computer.billing.account()
  assert.deepEqual(
    [plan.id, state, nextPlanId, collectsPayments],
    ['startup', 'active', null, false],
  )
  assert.equal(limits.find(({ key }) => key === 'machines')!.limit, plan.limits.machines)
})

test('usage as records, by machine, in buckets and as a summary', async () => {
  const machine = await computer.machines.create({ name: 'used' })
  const hourAgo = new Date(Date.now() - 3_600_000)
  await server.app.db
    .updateTable('meter_intervals')
    .set({ started_at: hourAgo })
    .where('machine_id', '=', machine.id as `mch_${string}`)
    .execute()
  const window = { start: new Date(Date.now() - 7_200_000).toISOString(), machineId: machine.id }
  const all = await computer.usage.list({ ...window, limit: 1 }).all()
  assert.deepEqual(all.map(({ meter }) => meter).toSorted(), [
    'compute_small_seconds',
    'hot_storage_byte_seconds',
  ])
  const [sum] = (
    await computer.usage.list({ ...window, groupBy: 'machine', meter: 'compute_small_seconds' })
  ).data
  assert.ok(BigInt(sum!.quantity) >= 3_600n)
  const series = await computer.usage.series({ ...window, meter: 'compute_small_seconds' })
  const total = series.data.reduce((seconds, { quantity }) => seconds + BigInt(quantity), 0n)
  assert.ok(total >= BigInt(sum!.quantity))
  const summary = await computer.billing.summary()
  assert.equal(summary.status, 'estimate')
  assert.match(summary.computeCredits.remaining, /^\d+\.\d{6}$/)
  const same = await computer.billing.summary({ period: summary.periodStart })
  assert.equal(same.periodEnd, summary.periodEnd)
})

test('usage by caller and by label, and its exports', async () => {
  const [sum] = (await computer.usage.list({ groupBy: 'key' })).data
  assert.ok(sum === undefined || sum.actor?.type === 'api_key')
  assert.deepEqual(await computer.usage.labels(), { keys: [] })
  // An API key has no scope for it.
  const choosing = computer.usage.setLabels({ keys: ['team'] })
  await assert.rejects(choosing, { code: 'permission_denied' })
  const byTeam = await computer.usage.list({ groupBy: 'label', labelKey: 'my_team' }).all()
  assert.ok(byTeam.every(({ machineId, labels }) => machineId === null && !('my_team' in labels)))
  assert.match(await computer.usage.export({ format: 'csv' }), /^start,end,meter/)
  const past = computer.usage.export({ format: 'focus', period: '2001-01-01T00:00:00Z' })
  await assert.rejects(past, { code: 'not_found' })
  assert.match(await computer.usage.metrics(), /# EOF\n$/)
})

test('an estimate, and what needs a payment provider', async () => {
  const cost = await computer.billing.estimate({ size: 'standard', count: 2 })
  assert.deepEqual([cost.computeCentsPerHour, cost.currency], ['20.000000', 'usd'])
  const buying = computer.billing.checkout({ planId: 'pro', successUrl: server.baseUrl })
  // An API key has no scope for it.
  await assert.rejects(buying, { code: 'permission_denied' })
  await assert.rejects(computer.billing.portal(), { code: 'permission_denied' })
})
