import type { Meter, OrganizationId } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { sql } from 'kysely'
import { startComputer } from '../../cli/test/computer.ts'
import { billingCases } from '../../scripts/soak/properties.ts'
import { monthStart, moveOpenPeriod } from './billing-clock.ts'
import { parseCsv } from './csv.ts'
import { givePlan } from './plans.ts'

/* Quantities beyond 2^53, and beyond 10^21, reach every reader to the last digit. */

const { server, json, run } = await startComputer({ after })
const { db } = server.app
const computer = server.connect()
const { id } = await server.machine({ start: false })
await server.stopWorkers()
const organizationId = (await db.selectFrom('organizations').select('id').executeTakeFirstOrThrow())
  .id as OrganizationId
await moveOpenPeriod(db, organizationId, { start: monthStart(-1), end: monthStart(1) })
await givePlan(db, { planId: 'free' })
const start = monthStart(-1).toISOString()

/** What Postgres has for a single row. */
const bytes = fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n })
const seconds = fc.bigInt({ min: 1n, max: 28n * 86_400n })
const facts = fc.record({
  hot: fc.array(fc.tuple(bytes, seconds), { maxLength: 3 }),
  cold: fc.array(fc.tuple(bytes, seconds), { maxLength: 3 }),
  egress: fc.array(bytes, { maxLength: 3 }),
})
type Facts = typeof facts extends fc.Arbitrary<infer T> ? T : never
/** Sums of either size, so that both are there whatever the seed is. */
const examples: [Facts][] = [
  [
    {
      hot: [[2n ** 63n - 1n, 28n * 86_400n]],
      cold: [[2n ** 53n + 1n, 1n]],
      egress: [2n ** 53n + 1n],
    },
  ],
]

test('over HTTP, as a summary, records, sums, a series, CSV and metrics', async () => {
  await check(1, async (made) => {
    const expected = await replaceFacts(made)
    const { body } = await server.call('GET', '/v1/billing/usage-summary')
    assert.deepEqual(quantitiesOf(body.lines), expected)
    for (const { quantity, included, billable } of body.lines)
      assert.equal(BigInt(included) + BigInt(billable), BigInt(quantity))
    for (const path of ['usage?limit=100&', 'usage?group_by=machine&', 'usage/series?']) {
      const { status, body: list } = await server.call('GET', `/v1/${path}start=${start}`)
      assert.equal(status, 200)
      assert.deepEqual(quantitiesOf(list.data), expected, path)
    }
    const csv = await server.call('GET', '/v1/usage/export?format=csv')
    assert.deepEqual(quantitiesOf(parseCsv(csv.bytes.toString()) as never), expected)
    const metrics = (await server.call('GET', '/v1/usage/metrics')).bytes.toString()
    for (const [meter, quantity] of expected)
      assert.match(metrics, new RegExp(`computer_usage_${meter}_total\\{.*\\} ${quantity}\\n`))
  })
})

test('in the SDK', async () => {
  await check(0.1, async (made) => {
    const expected = await replaceFacts(made)
    assert.deepEqual(quantitiesOf((await computer.billing.summary()).lines), expected)
    assert.deepEqual(quantitiesOf(await computer.usage.list({ start }).all()), expected)
    assert.deepEqual(quantitiesOf((await computer.usage.series({ start })).data), expected)
    const csv = await computer.usage.export({ format: 'csv' })
    assert.deepEqual(quantitiesOf(parseCsv(csv) as never), expected)
  })
})

test('in the output of the CLI', async () => {
  await check(0.005, async (made) => {
    const expected = await replaceFacts(made)
    assert.deepEqual(quantitiesOf((await json('billing')).lines), expected)
    assert.deepEqual(quantitiesOf(await json('usage', '--start', start)), expected)
    assert.deepEqual(quantitiesOf(await json('usage', '--records', '--start', start)), expected)
    const { stdout } = await run(['usage', 'export'])
    assert.deepEqual(quantitiesOf(parseCsv(stdout) as never), expected)
  })
})

async function check(share: number, predicate: (made: Facts) => Promise<void>): Promise<void> {
  const property = fc.asyncProperty(facts, predicate)
  await fc.assert(property, { ...billingCases(share), examples })
}

/** Stores it, and returns what is expected of each meter. */
async function replaceFacts({ hot, cold, egress }: Facts): Promise<[Meter, string][]> {
  await sql`delete from meter_intervals`.execute(db)
  await sql`delete from egress_counts`.execute(db)
  const sums = new Map<Meter, bigint>()
  const add = (meter: Meter, quantity: bigint) =>
    sums.set(meter, (sums.get(meter) ?? 0n) + quantity)
  for (const [meter, list] of [
    ['hot_storage', hot],
    ['cold_storage', cold],
  ] as const) {
    for (const [amount, length] of list) {
      await sql`insert into meter_intervals (organization_id, machine_id, meter, bytes, started_at, ended_at)
        values (${organizationId}, ${id}, ${meter}, ${String(amount)}, ${start},
          ${start}::timestamptz + make_interval(secs => ${String(length)}))`.execute(db)
      add(`${meter}_byte_seconds`, amount * length)
    }
  }
  for (const [index, amount] of egress.entries()) {
    await sql`insert into egress_counts (flush_id, machine_id, organization_id, bytes, counted_at)
      values (${index}, ${id}, ${organizationId}, ${String(amount)}, ${start})`.execute(db)
    add('egress_bytes', amount)
  }
  return sorted(sums)
}

function quantitiesOf(
  rows: readonly { readonly meter: string; readonly quantity: string }[],
): [Meter, string][] {
  const sums = new Map<Meter, bigint>()
  for (const { meter, quantity } of rows) {
    assert.match(quantity, /^\d+$/)
    sums.set(meter as Meter, (sums.get(meter as Meter) ?? 0n) + BigInt(quantity))
  }
  return sorted(sums)
}

function sorted(sums: ReadonlyMap<Meter, bigint>): [Meter, string][] {
  return [...sums]
    .filter(([, sum]) => sum > 0n)
    .map(([meter, sum]): [Meter, string] => [meter, String(sum)])
    .toSorted(([a], [b]) => a.localeCompare(b))
}
