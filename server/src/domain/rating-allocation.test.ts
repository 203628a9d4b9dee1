import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Meter } from '@computer/contract'
import fc from 'fast-check'
import { tryProperty } from '../../../scripts/soak/properties.ts'
import { allocate } from './rating-allocation.ts'
import { rate, type Tariff } from './rating.ts'

const quantity = fc.bigInt({ min: 0n, max: 10n ** 24n })
const quantities = fc
  .array(fc.oneof(quantity, fc.bigInt({ min: 0n, max: 5n })), { minLength: 1, maxLength: 30 })
  .filter((all) => all.some((one) => one > 0n))

test('shares add up to the amount, and each is within a unit of its part', async () => {
  const property = fc.property(
    fc.bigInt({ min: 0n, max: 10n ** 12n }),
    quantities,
    (amount, all) => {
      const shares = allocate(amount, all)
      const sum = all.reduce((total, one) => total + one, 0n)
      assert.equal(
        shares.reduce((total, one) => total + one, 0n),
        amount,
      )
      for (const [index, share] of shares.entries()) {
        const difference = share * sum - amount * all[index]!
        assert.ok(-sum < difference && difference < sum)
        if (all[index] === 0n) assert.equal(share, 0n)
      }
      // More never gets less.
      const inOrder = all.map((one, index) => [one, shares[index]!] as const).toSorted(byQuantity)
      for (const [index, [one, share]] of inOrder.entries()) {
        const before = inOrder[index - 1]
        if (before && before[0] < one) assert.ok(before[1] <= share)
      }
    },
  )
  await tryProperty(property)
})

test('what machines share of each line adds up to the bill', async () => {
  const price = fc.record({
    cents: fc.bigInt({ min: 0n, max: 100_000n }),
    perUnits: fc.bigInt({ min: 1n, max: 10n ** 16n }),
  })
  const ofMachine = fc.record({
    compute_small_seconds: quantity,
    compute_large_seconds: quantity,
    egress_bytes: quantity,
  })
  const machines = fc.array(ofMachine, { minLength: 1, maxLength: 20 })
  const property = fc.property(price, price, machines, (compute, egress, all) => {
    const meters = ['compute_small_seconds', 'compute_large_seconds', 'egress_bytes'] as const
    const quantitiesOf = (meter: Meter) => all.map((one) => one[meter as 'egress_bytes'] ?? 0n)
    const usage = new Map(meters.map((meter) => [meter, sumOf(quantitiesOf(meter))]))
    const { lines, totalCents } = rate({ ...tariff, prices: { compute, egress } }, usage)
    const shares = lines.map(({ meter, amountCents }) => allocate(amountCents, quantitiesOf(meter)))
    for (const [index, { amountCents }] of lines.entries())
      assert.equal(sumOf(shares[index]!), amountCents)
    const ofMachines = all.map((_, machine) => sumOf(shares.map((share) => share[machine]!)))
    assert.equal(sumOf(ofMachines), totalCents)
  })
  await tryProperty(property)
})

test('what is left goes to the largest remainders, the first of equal ones first', () => {
  assert.deepEqual(allocate(10n, [1n, 1n, 1n]), [4n, 3n, 3n])
  assert.deepEqual(allocate(1n, [1n, 2n, 1n]), [0n, 1n, 0n])
  assert.deepEqual(allocate(0n, [0n, 0n]), [0n, 0n])
  assert.throws(() => allocate(1n, [0n]), RangeError)
  assert.throws(() => allocate(-1n, [1n]), RangeError)
})

const tariff: Tariff = {
  sizes: [
    { id: 'small', weightMilli: 500n },
    { id: 'standard', weightMilli: 1_000n },
    { id: 'large', weightMilli: 2_000n },
  ],
  prices: {},
  includedStandardHours: 120n,
  includedHotStorageBytes: 0n,
  overageAllowed: true,
  periodSeconds: 2_592_000n,
  allowanceSeconds: 2_592_000n,
}

function sumOf(amounts: readonly bigint[]): bigint {
  return amounts.reduce((sum, amount) => sum + amount, 0n)
}

function byQuantity([a]: readonly [bigint, bigint], [b]: readonly [bigint, bigint]): number {
  return a < b ? -1 : Number(a > b)
}
