import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startTestServer } from './harness.ts'

const server = await startTestServer({ after }, { worker: false })
const { db } = server.app
const limitKeys = [
  'running_machines',
  'machines',
  'templates',
  'members',
  'concurrent_sessions',
  'snapshots_per_machine',
]

test('the catalog has plans with limits, sizes, meters and prices', async () => {
  const { status, body } = await server.call('GET', '/v1/plans')
  assert.equal(status, 200)
  const rows = await db.selectFrom('catalog_plans').selectAll().orderBy('position').execute()
  assert.deepEqual(
    body.data.map(({ id }: { id: string }) => id),
    rows.map(({ id }) => id),
  )
  assert.deepEqual([body.catalog_version, body.has_more, body.next_cursor], [1, false, null])
  const [free] = body.data
  assert.deepEqual(Object.keys(free.limits).sort(), limitKeys.toSorted())
  assert.deepEqual([free.limits.machines, free.overage_allowed, free.price_cents], [1, false, 0])
  const enterprise = body.data.at(-1)
  assert.ok(limitKeys.every((key) => enterprise.limits[key] === null))
  assert.equal(enterprise.included_standard_hours, null)
  assert.deepEqual(body.sizes[0], {
    id: 'small',
    cpu: 2,
    memory_mb: 4096,
    disk_gb: 10,
    weight_milli: 500,
  })
  assert.deepEqual(body.meters[0], {
    id: 'compute_small_seconds',
    unit: 'seconds',
    size: 'small',
    item: 'compute',
  })
  assert.equal(body.meters.length, 6)
  const compute = body.prices.find(({ item }: { item: string }) => item === 'compute')
  assert.deepEqual(compute, { item: 'compute', currency: 'usd', cents: 10, per_units: '3600000' })

  const first = await server.call('GET', '/v1/plans?limit=2')
  assert.deepEqual([first.body.data.length, first.body.has_more], [2, true])
  const rest = await server.call('GET', `/v1/plans?cursor=${first.body.next_cursor}`)
  assert.deepEqual([...first.body.data, ...rest.body.data], body.data)

  const one = await server.call('GET', '/v1/plans/pro')
  assert.deepEqual(one.body, body.data[2])
  const none = await server.call('GET', '/v1/plans/gold')
  assert.deepEqual([none.status, none.body.error.code], [404, 'not_found'])
})
