import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { rollPeriods } from '../src/domain/accounts/periods.ts'
import { adjustBill } from '../src/domain/billing/adjustments.ts'
import { closePeriods } from '../src/domain/billing/closing.ts'
import { endWait, monthStart, moveOpenPeriod } from './billing-clock.ts'
import { billingFacts } from './billing-facts.ts'
import { parseCsv } from './csv.ts'
import { startTestServer, type Call } from './harness.ts'
import { givePlan } from './plans.ts'

const server = await startTestServer({ after })
const { db } = server.app
const { newOrganization, use } = billingFacts(server)
const gibibyte = 2 ** 30

/** An organization whose first period was last month, with something of each kind used in it. */
async function lastMonth() {
  const { call, organizationId } = await newOrganization()
  await moveOpenPeriod(db, organizationId, { start: monthStart(-1), end: monthStart(0) })
  await givePlan(db, { planId: 'developer' }, organizationId)
  const key = await server.apiKey()
  const labels = { task: '=1+1', team: 'a, "b"\nc' }
  await use(organizationId, { hours: 251, size: 'standard', apiKeyId: key.id, labels })
  await use(organizationId, { hours: 37, size: 'small' })
  await use(organizationId, { hours: 719, size: 'large' })
  await use(organizationId, { hours: 600, meter: 'hot_storage', bytes: 300 * gibibyte + 1 })
  await use(organizationId, { hours: 100, meter: 'cold_storage', bytes: 99 * gibibyte + 7 })
  await rollPeriods(db)
  const period = new Date(monthStart(0).getTime() - 1).toISOString()
  return { call, organizationId, key, labels, period }
}

test('the records of a period are a CSV file', async () => {
  const { call, key, labels, period } = await lastMonth()
  const { headers, rows } = await csvOf(call, `csv&period=${period}`)
  assert.equal(headers['content-type'], 'text/csv; charset=utf-8')
  assert.equal(headers['content-disposition'], 'attachment; filename="usage.csv"')
  const { body } = await call('GET', `/v1/usage?start=${monthStart(-1).toISOString()}`)
  assert.deepEqual(
    rows.map(({ meter, quantity, start }) => ({ meter, quantity, start })),
    body.data.map((row: Record<string, string>) => ({
      meter: row['meter'],
      quantity: row['quantity'],
      start: row['start'],
    })),
  )
  const own = rows.filter(({ actor_id: id }) => id === key.id)
  assert.deepEqual(
    own.map((row) => [row['actor_type'], JSON.parse(row['labels']!)]),
    [['api_key', labels]],
  )
})

test('an export has all records, in the order of the list', async () => {
  const { call, organizationId } = await newOrganization()
  await moveOpenPeriod(db, organizationId, { start: monthStart(-1), end: monthStart(0) })
  await givePlan(db, { planId: 'developer' }, organizationId)
  await use(organizationId, { hours: 1, size: 'small' })
  const first = await db
    .selectFrom('meter_intervals')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .executeTakeFirstOrThrow()
  const at = (second: number) => new Date(monthStart(-1).getTime() + second * 1000)
  const { id: _, labels: __, ...interval } = first
  const many = Array.from({ length: 2_500 }, (_value, index) => ({
    ...interval,
    // Several begin at once.
    started_at: at(7_200 + Math.floor(index / 3)),
    ended_at: at(7_200 + Math.floor(index / 3) + 1 + index),
  }))
  await db.insertInto('meter_intervals').values(many).execute()
  await rollPeriods(db)
  const { rows } = await csvOf(call, `csv&period=${at(1).toISOString()}`)
  assert.equal(rows.length, 2_501)
  const expected = [3_600, ...many.map((_value, index) => index + 1)]
  assert.deepEqual(
    rows.map(({ quantity }) => Number(quantity)),
    expected.toReversed(),
  )
})

test('FOCUS has a row for each machine, meter and day, whose costs add up to the lines', async () => {
  const { call, organizationId, key, labels, period } = await lastMonth()
  for (const isFinal of [false, true]) {
    if (isFinal) {
      await endWait(db, organizationId)
      await closePeriods(db)
    }
    const { rows } = await csvOf(call, `focus&period=${period}`)
    const { body: summary } = await call('GET', `/v1/billing/usage-summary?period=${period}`)
    assert.equal(summary.status, isFinal ? 'final' : 'estimate')
    for (const { meter, quantity, amount_cents: cents } of summary.lines) {
      const own = rows.filter(({ SkuId }) => SkuId === meter)
      assert.equal(sumOf(own, 'BilledCost', 2), BigInt(cents), meter)
      assert.equal(sumOf(own, 'ConsumedQuantity', 0), BigInt(quantity), meter)
    }
    assert.ok(summary.total_cents > 0)
    checkFocus(rows)
  }
  const { rows } = await csvOf(call, `focus&period=${period}`)
  const days = rows.filter(({ x_ActorId: id }) => id === key.id)
  // 251 hours are ten days and eleven hours.
  assert.equal(days.length, 11)
  assert.deepEqual(JSON.parse(days[0]!['Tags']!), labels)
  assert.deepEqual(
    [days[10]!['ConsumedQuantity'], days[10]!['ConsumedUnit'], days[10]!['ServiceCategory']],
    [String(11 * 3600), 'Seconds', 'Compute'],
  )
  // A standard-hour costs 10 cents.
  assert.equal(Number(days[10]!['ListCost']), 1.1)
})

/** Checks that FOCUS 1.2 demands of every row (specification/columns of FOCUS_Spec, v1.2). */
function checkFocus(rows: readonly Record<string, string>[]): void {
  assert.ok(rows.length > 0)
  for (const row of rows) {
    for (const column of mandatory) {
      assert.ok(column in row, column)
      if (column !== 'ChargeClass') assert.notEqual(row[column], '', column)
    }
    for (const column of ['BilledCost', 'EffectiveCost', 'ContractedCost', 'ListCost']) {
      assert.match(row[column]!, /^\d+(\.\d+)?$/, column)
    }
    for (const column of Object.keys(row).filter((name) => /(Start|End)$/.test(name))) {
      assert.match(row[column]!, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/, column)
    }
    assert.ok(row['ChargePeriodStart']! >= row['BillingPeriodStart']!)
    assert.ok(row['ChargePeriodEnd']! <= row['BillingPeriodEnd']!)
    assert.match(row['BillingCurrency']!, /^[A-Z]{3}$/)
    const product = Number(row['ListUnitPrice']) * Number(row['PricingQuantity'])
    const listCost = Number(row['ListCost'])
    assert.ok(Math.abs(product - listCost) <= 1e-6 * Math.max(1, listCost), 'list cost')
  }
}

const mandatory = [
  'BilledCost',
  'BillingAccountId',
  'BillingAccountName',
  'BillingCurrency',
  'BillingPeriodEnd',
  'BillingPeriodStart',
  'ChargeCategory',
  'ChargeClass',
  'ChargeDescription',
  'ChargePeriodEnd',
  'ChargePeriodStart',
  'ContractedCost',
  'EffectiveCost',
  'InvoiceIssuerName',
  'ListCost',
  'PricingQuantity',
  'PricingUnit',
  'ProviderName',
  'PublisherName',
  'ServiceCategory',
  'ServiceName',
]

test('corrections of a bill are rows of FOCUS as well, and the sum is the total', async () => {
  const { call, organizationId } = await newOrganization()
  for (const [cents, reason] of [
    [-505, '=an outage'],
    [120, 'a fee'],
  ] as const) {
    const operator = { type: 'operator', id: 'root', name: 'root' } as const
    await adjustBill(server.app, operator, organizationId, { cents, reason })
  }
  const { rows } = await csvOf(call, 'focus')
  assert.deepEqual(
    rows.map((row) => [row['BilledCost'], row['ChargeClass'], row['ChargeCategory']]),
    [
      ['-5.05', 'Correction', 'Adjustment'],
      ['1.20', 'Correction', 'Adjustment'],
    ],
  )
  // A spreadsheet would compute a text that begins with an equals sign.
  assert.equal(rows[0]!['ChargeDescription'], "'=an outage")
  const { total_cents: total } = (await call('GET', '/v1/billing/usage-summary')).body
  assert.equal(sumOf(rows, 'BilledCost', 2), BigInt(total))
})

test('a period that does not exist is an error, and one without usage a file with its head alone', async () => {
  const { call } = await newOrganization()
  const gone = await call('GET', '/v1/usage/export?format=csv&period=2001-01-01T00:00:00Z')
  assert.equal(gone.status, 404)
  for (const format of ['csv', 'focus']) assert.deepEqual((await csvOf(call, format)).rows, [])
})

test('counters go on over the end of a period', async () => {
  const { call, organizationId } = await lastMonth()
  const first = await metricsOf(call)
  assert.equal(first.get('computer_usage_compute_standard_seconds_total'), String(251 * 3600))
  assert.equal(first.get('computer_usage_egress_bytes_total'), '0')
  await endWait(db, organizationId)
  await closePeriods(db)
  assert.deepEqual(await metricsOf(call), first)
})

async function metricsOf(call: Call): Promise<Map<string, string>> {
  const { headers, bytes } = await call('GET', '/v1/usage/metrics')
  assert.match(String(headers['content-type']), /^application\/openmetrics-text; version=1\.0\.0/)
  const lines = bytes.toString().split('\n')
  assert.deepEqual(lines.slice(-2), ['# EOF', ''])
  const samples = lines.filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    samples.map((line) => {
      const [, name, value] = /^(\w+)\{organization_id="org_[0-9a-z]+"\} (\d+)$/.exec(line)!
      return [name!, value!]
    }),
  )
}

async function csvOf(call: Call, query: string) {
  const { status, headers, bytes } = await call('GET', `/v1/usage/export?format=${query}`)
  assert.equal(status, 200, bytes.toString())
  return { headers, rows: parseCsv(bytes.toString()) }
}

/** The sum of decimals, in units of the last. */
function sumOf(rows: readonly Record<string, string>[], column: string, decimals: number): bigint {
  const digits = rows.map((row) => {
    const [whole, fraction = ''] = row[column]!.split('.')
    assert.equal(fraction.length, decimals, column)
    return BigInt(whole! + fraction)
  })
  return digits.reduce((sum, value) => sum + value, 0n)
}
