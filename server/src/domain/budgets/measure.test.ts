import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  hasReached,
  hasRoom,
  isExhausted,
  measure,
  reachesAt,
  reserved,
  type PricedQuantity,
} from './measure.ts'

const numRuns = 1_000
const origin = Date.UTC(2026, 1, 27)

const price = fc.option(
  fc.record({
    cents: fc.bigInt({ min: 0n, max: 50n }),
    perUnits: fc.bigInt({ min: 1n, max: 100_000n }),
  }),
)
const burning = fc.array(
  fc.record({
    item: fc.constantFrom('compute' as const, 'hot_storage' as const, 'egress' as const),
    /** What each second adds. */
    quantity: fc.bigInt({ min: 1n, max: 5n }),
    weightMilli: fc.constantFrom(500n, 1_000n, 2_000n),
    price,
    /** Milliseconds after the origin. */
    startedMs: fc.nat({ max: 20_000 }),
  }),
  { maxLength: 4 },
)
const limit = fc.record({
  type: fc.constantFrom('standard_hours' as const, 'list_price_cents' as const),
  micros: fc.bigInt({ min: 1n, max: 100_000n }),
})
const percent = fc.integer({ min: 1, max: 100 })

test('the computed instant is the second at which counting second by second reaches the share', () => {
  const nowMs = fc.integer({ min: 20_000, max: 40_000 })
  check(
    fc.property(burning, limit, percent, nowMs, (open, max, share, now) => {
      const at = (ms: number) => measureAt(open, max, ms)
      const computed = reachesAt(at(now), new Date(origin + now), share)
      if (hasReached(at(now), share)) return assert.equal(computed, null)
      // A second counts once it has begun, so it is looked at a millisecond later.
      for (let second = Math.ceil(now / 1_000); second < now / 1_000 + 400; second++) {
        if (!hasReached(at(second * 1_000 + 1), share)) continue
        assert.equal(computed?.getTime(), origin + second * 1_000)
        // At its beginning it is not reached yet.
        return assert.ok(!hasReached(at(second * 1_000), share))
      }
      assert.ok(computed === null || computed.getTime() > origin + now + 398_000)
    }),
  )
})

test('no more starts fit than reservations fit into what is left, in any order', () => {
  const weights = fc.array(fc.constantFrom(500n, 1_000n, 2_000n), { minLength: 1, maxLength: 20 })
  const terms = fc.record({
    seconds: fc.integer({ min: 1, max: 600 }),
    left: fc.bigInt({ min: 0n, max: 3_000_000n }),
  })
  check(
    fc.property(weights, terms, (sizes, { seconds, left }) => {
      const max = { type: 'standard_hours' as const, micros: 10_000_000n }
      const used = compute(36_000_000n - left, 1n)
      const admitted: bigint[] = []
      const refused: bigint[] = []
      for (const weight of sizes) {
        const runs = [...admitted, weight].map((one) => ({ ...compute(1n, one), ranSeconds: 0n }))
        const fits = hasRoom(measure(max, [used], []), reserved(max, runs, seconds))
        ;(fits ? admitted : refused).push(weight)
      }
      const total = admitted.reduce((sum, weight) => sum + weight, 0n) * BigInt(seconds)
      assert.ok(total <= left)
      assert.ok(refused.every((weight) => total + weight * BigInt(seconds) > left))
    }),
  )
})

test('a start keeps its minimum run, less what it ran, and a whole cent of an amount', () => {
  const listed = { cents: 10n, perUnits: 3_600_000n }
  const run = (ranSeconds: bigint, cost: PricedQuantity['price'] = listed) => ({
    ...compute(1n, 1_000n),
    price: cost,
    ranSeconds,
  })
  const cents = { type: 'list_price_cents' as const, micros: 1_000_000n }
  const hours = { type: 'standard_hours' as const, micros: 1_000_000n }
  const inUnit = ({ units, scale }: ReturnType<typeof reserved>) => Number(units) / Number(scale)
  assert.equal(inUnit(reserved(hours, [run(0n)], 60)), 1 / 60)
  assert.equal(inUnit(reserved(hours, [run(45n)], 60)), 15 / 3_600)
  assert.equal(inUnit(reserved(hours, [run(61n)], 60)), 0)
  // An hour costs ten cents, so six minutes cost one.
  assert.equal(inUnit(reserved(cents, [run(0n)], 60)), 1)
  assert.equal(inUnit(reserved(cents, [run(180n)], 60)), 0.5)
  assert.equal(inUnit(reserved(cents, [run(0n)], 720)), 2)
  // What costs nothing reserves nothing, and what is cheap reserves an hour.
  assert.equal(inUnit(reserved(cents, [run(0n, null)], 60)), 0)
  assert.equal(inUnit(reserved(cents, [run(0n, { cents: 1n, perUnits: 36_000_000n })], 60)), 0.1)
})

test('a limit is used up to the last millionth of its unit, however prices are divided', () => {
  const third = { cents: 1n, perUnits: 3n }
  const seventh = { cents: 1n, perUnits: 7n }
  const bytes = (quantity: bigint, cost: PricedQuantity['price']): PricedQuantity => ({
    item: 'egress',
    quantity,
    weightMilli: 0n,
    price: cost,
  })
  const max = { type: 'list_price_cents' as const, micros: 1_000_000n }
  assert.ok(!isExhausted(measure(max, [bytes(2n, third), bytes(2n, seventh)], [])))
  assert.ok(isExhausted(measure(max, [bytes(2n, third), bytes(3n, seventh)], [])))
  assert.ok(isExhausted(measure(max, [bytes(3n, third)], [])))
  const { used, scale } = measure(max, [bytes(10n ** 30n, third)], [])
  assert.equal((used * 3n) / scale, 10n ** 30n)
})

/** Counts second by second, as a person would. */
function measureAt(
  open: readonly BurningInterval[],
  max: Parameters<typeof measure>[0],
  ms: number,
) {
  const used = open.map(({ startedMs, quantity, ...one }) => {
    let seconds = 0n
    for (let at = Math.ceil(startedMs / 1_000) * 1_000; at < ms; at += 1_000) seconds += 1n
    return { ...one, quantity: quantity * seconds }
  })
  return measure(max, used, open)
}

type BurningInterval = PricedQuantity & { readonly startedMs: number }

function compute(quantity: bigint, weightMilli: bigint): PricedQuantity {
  return { item: 'compute', quantity, weightMilli, price: null }
}

function check<T>(property: fc.IProperty<T>): void {
  fc.assert(property, { numRuns })
}
