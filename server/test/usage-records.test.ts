import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { monthStart } from './billing-clock.ts'
import { billingFacts } from './billing-facts.ts'
import { startTestServer } from './harness.ts'

const server = await startTestServer({ after })
const { newOrganization, use } = billingFacts(server)

test('quantities beyond 2^53 are exact', async () => {
  const { call, organizationId } = await newOrganization()
  const bytes = Number.MAX_SAFE_INTEGER
  await use(organizationId, { hours: 200, meter: 'hot_storage', bytes })
  const start = monthStart(-1).toISOString()
  const { body } = await call('GET', `/v1/usage?start=${start}&meter=hot_storage_byte_seconds`)
  assert.deepEqual(
    body.data.map(({ quantity }: { quantity: string }) => quantity),
    [String(BigInt(bytes) * 200n * 3600n)],
  )
})

test('usage is read by window, meter and machine, and of the own organization alone', async () => {
  const { call, organizationId } = await newOrganization()
  const one = await use(organizationId, { hours: 3, size: 'small' })
  const other = await use(organizationId, { hours: 2, size: 'large' })
  const start = monthStart(-1).toISOString()
  const read = async (query: string, by = call) =>
    (await by('GET', `/v1/usage?start=${start}&${query}`)).body.data
  assert.deepEqual(
    (await read('')).map(({ meter, size, quantity }: Record<string, string>) => [
      meter,
      size,
      quantity,
    ]),
    [
      ['compute_large_seconds', 'large', '7200'],
      ['compute_small_seconds', 'small', '10800'],
    ],
  )
  assert.deepEqual(
    (await read(`machine_id=${one}`)).map(({ machine_id }: { machine_id: string }) => machine_id),
    [one],
  )
  assert.deepEqual(await read('meter=egress_bytes'), [])
  assert.equal((await read(`machine_id=${other}&group_by=machine`))[0].quantity, '7200')

  const stranger = await newOrganization()
  assert.deepEqual(await read(`machine_id=${one}`, stranger.call), [])
  const { body } = await stranger.call('GET', `/v1/usage/series?start=${start}`)
  assert.deepEqual(body.data, [])

  const series = async (query: string) => (await call('GET', `/v1/usage/series?${query}`)).body
  const until = new Date(monthStart(-1).getTime() + 7 * 86_400_000)
  const hourly = await series(`start=${start}&end=${until.toISOString()}&machine_id=${one}`)
  assert.equal(hourly.bucket_seconds, 3600)
  assert.deepEqual(
    hourly.data,
    [0, 1, 2].map((hour) => ({
      start: new Date(monthStart(-1).getTime() + hour * 3_600_000).toISOString(),
      meter: 'compute_small_seconds',
      quantity: '3600',
    })),
  )
  const daily = await series(`start=${start}&end=${new Date(Number(until) + 1).toISOString()}`)
  assert.equal(daily.bucket_seconds, 86_400)
  // By default until the end of the period, of which the rest is empty.
  const recent = new Date(Date.now() - 7_200_000).toISOString()
  assert.equal((await series(`start=${recent}`)).bucket_seconds, 3600)
  assert.equal(daily.data.length, 2)
})

test('a window that makes no sense is refused with the field', async () => {
  const tries: [string, string][] = [
    ['start=2026-02-01T00:00:00Z&end=2026-02-01T00:00:00Z', 'end'],
    ['start=2150-01-01T00:00:00Z', 'start'],
    ['start=1970-01-01T00:00:00Z', 'start'],
    ['start=2024-01-01T00:00:00Z&end=2026-01-01T00:00:00Z', 'start'],
    ['start=yesterday', 'start'],
    ['meter=gold', 'meter'],
  ]
  for (const path of ['/v1/usage', '/v1/usage/series']) {
    for (const [query, field] of tries) {
      const { status, body } = await server.call('GET', `${path}?${query}`)
      assert.equal(status, 400, query)
      assert.equal(body.error.details[0].field, field, query)
    }
  }
  const away = '/v1/billing/usage-summary?period=2001-01-01T00:00:00Z'
  assert.equal((await server.call('GET', away)).status, 404)
})
