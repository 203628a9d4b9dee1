import type { Budget, BudgetScope } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { sql } from 'kysely'
import { settleBudget } from '../src/domain/budgets/settling.ts'
import { findBudgets, measureBudgets } from '../src/domain/budgets/use.ts'
import { readUsage } from '../src/domain/billing/summary.ts'
import { budgetFacts } from './budget-facts.ts'
import { startTestServer } from './harness.ts'

/*
 * What the parts of a scope used adds up to what the organization used, exactly, and is what its summary
 * counts at list price; and what is settled of it makes no difference.
 */

const server = await startTestServer({ after }, { worker: false })
const { db } = server.app
const facts = budgetFacts(server)
const { actor, organizationId, budget, machine } = await facts.newOrganization()
await facts.setLabelKeys(organizationId, ['team'])
const machines = [(await machine()).id, (await machine()).id]
const keys = [await facts.keyOf(actor), await facts.keyOf(actor)].map(({ id }) => id)
const teams = ['red', 'blue']
const partitions: readonly (readonly BudgetScope[])[] = [
  machines.map((id) => ({ type: 'machine', machine_id: id })),
  keys.map((id) => ({ type: 'api_key', api_key_id: id })),
  teams.map((value) => ({ type: 'label', label: { key: 'team', value } })),
]
const limits: readonly Budget['limit'][] = [
  { type: 'list_price_cents', value: '1000' },
  { type: 'standard_hours', value: '1000' },
]
const made: { readonly whole: Budget; readonly parts: readonly Budget[][] }[] = []
for (const limit of limits) {
  const parts: Budget[][] = []
  for (const scopes of partitions) {
    parts.push(await Promise.all(scopes.map((scope) => budget({ scope, limit }))))
  }
  made.push({ whole: await budget({ limit }), parts })
}

const origin = Date.UTC(2026, 0, 1)
const hourMs = 3_600_000
const ms = fc.integer({ min: 0, max: 31 * 24 * hourMs })
const time = ms.map((at) => new Date(origin + at))
const attribution = fc.record({
  machine_id: fc.constantFrom(...machines),
  actor_id: fc.constantFrom(...keys),
  team: fc.constantFrom(...teams),
})
const interval = fc.record({
  by: attribution,
  kind: fc.constantFrom('small', 'standard', 'large', 'hot_storage', 'cold_storage'),
  bytes: fc.maxSafeNat(),
  times: fc.tuple(time, time).map((pair) => pair.toSorted((a, b) => Number(a) - Number(b))),
})
const egress = fc.record({ by: attribution, bytes: fc.integer({ min: 1, max: 2 ** 50 }), at: time })
const use = fc.record({
  intervals: fc.array(interval, { maxLength: 10 }),
  egress: fc.array(egress, { maxLength: 5 }),
})

test('the parts of each scope add up to the organization, which is its summary at list price', async () => {
  await fc.assert(
    fc.asyncProperty(use, async (used) => {
      await replaceUse(used)
      const measured = await measureAll()
      for (const { whole, parts } of made) {
        const all = measured.get(whole.id)!
        for (const part of parts) {
          const fractions = part.map(({ id }) => measured.get(id)!)
          assert.equal(sumOf(fractions), fractionOf(all))
        }
      }
      const [amount, hours] = made.map(({ whole }) => fractionOf(measured.get(whole.id)!))
      assert.deepEqual([amount, hours], await summaryAtListPrice())
    }),
    { numRuns: 1_000 },
  )
})

test('what is settled at any hour, and sums of bytes by hour, count the same', async () => {
  const hours = fc.array(fc.integer({ min: 0, max: 31 * 24 }), { minLength: 1, maxLength: 3 })
  await fc.assert(
    fc.asyncProperty(use, hours, async (used, cuts) => {
      await replaceUse(used)
      const before = await measureAll()
      for (const cut of cuts.toSorted((a, b) => a - b)) {
        for (const { whole, parts } of made) {
          for (const { id } of [whole, ...parts[2]!]) {
            const [state] = await findBudgets(db, sql`b.id = ${id}`)
            // A pass of the worker twenty minutes after that hour.
            await settleBudget(db, { ...state!, now: new Date(origin + (cut + 1 / 3) * hourMs) })
          }
        }
      }
      await sql`update egress_counts set counted_at = date_trunc('hour', counted_at, 'UTC')`.execute(
        db,
      )
      for (const [id, measure] of await measureAll()) {
        assert.equal(fractionOf(measure), fractionOf(before.get(id)!))
      }
    }),
    { numRuns: 150 },
  )
})

type Use = typeof use extends fc.Arbitrary<infer T> ? T : never

async function replaceUse({ intervals, egress: counts }: Use): Promise<void> {
  await sql`delete from meter_intervals`.execute(db)
  await sql`delete from egress_counts`.execute(db)
  await sql`update budget_windows set settled = '{}', settled_through = starts_at`.execute(db)
  const columns = ({ machine_id, actor_id, team }: Use['egress'][number]['by']) => ({
    machine_id,
    organization_id: organizationId,
    actor_type: 'api_key' as const,
    actor_id,
    labels: JSON.stringify({ team }) as never,
  })
  if (intervals.length > 0) {
    const rows = intervals.map(({ by, kind, bytes, times: [start, end] }) => {
      const isStorage = kind.endsWith('_storage')
      return {
        ...columns(by),
        meter: (isStorage ? kind : 'compute') as 'compute',
        size: isStorage ? null : (kind as 'small'),
        capture_id: null,
        bytes: isStorage ? bytes : null,
        started_at: start!,
        ended_at: end!,
      }
    })
    await db.insertInto('meter_intervals').values(rows).execute()
  }
  if (counts.length > 0) {
    const rows = counts.map(({ by, bytes, at }, index) => {
      return { ...columns(by), flush_id: String(index), bytes, counted_at: at }
    })
    await db.insertInto('egress_counts').values(rows).execute()
  }
}

async function measureAll() {
  const found = await findBudgets(db, sql`b.organization_id = ${organizationId}`)
  const measured = await measureBudgets(db, found)
  return new Map<string, Fraction>(
    measured.map(({ id, measure: { used, scale } }) => [id, { used, scale }]),
  )
}

type Fraction = { readonly used: bigint; readonly scale: bigint }

/** The cents and the standard-hours of the organization's usage as its summary counts it. */
async function summaryAtListPrice(): Promise<string[]> {
  const usage = await readUsage(db, organizationId, {
    starts_at: new Date(origin),
    ends_at: new Date(origin + 40 * 24 * hourMs),
  })
  const sizes = await db.selectFrom('catalog_sizes').selectAll().execute()
  const prices = await db.selectFrom('catalog_prices').selectAll().execute()
  const price = (item: string, used: bigint): Fraction => {
    const { cents, per_units } = prices.find((one) => one.item === item)!
    return { used: used * BigInt(cents ?? 0), scale: BigInt(per_units) }
  }
  const milliseconds = sizes.reduce(
    (sum, { id, weight_milli }) =>
      sum + (usage.get(`compute_${id}_seconds`) ?? 0n) * BigInt(weight_milli),
    0n,
  )
  const amount = sumOf([
    price('compute', milliseconds),
    price('hot_storage', usage.get('hot_storage_byte_seconds') ?? 0n),
    price('cold_storage', usage.get('cold_storage_byte_seconds') ?? 0n),
    price('egress', usage.get('egress_bytes') ?? 0n),
  ])
  return [amount, fractionOf({ used: milliseconds, scale: 3_600_000n })]
}

/** In lowest terms, so that equal fractions are the same text. */
function fractionOf({ used, scale }: Fraction): string {
  let [a, b] = [used, scale]
  while (b > 0n) [a, b] = [b, a % b]
  return `${used / a}/${scale / a}`
}

function sumOf(fractions: readonly Fraction[]): string {
  const sum = fractions.reduce((total, one) => ({
    used: total.used * one.scale + one.used * total.scale,
    scale: total.scale * one.scale,
  }))
  return fractionOf(sum)
}
