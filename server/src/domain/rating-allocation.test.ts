import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { billingCases } from '../../../scripts/soak/sizes.ts'
import { allocate } from './rating-allocation.ts'

const quantity = fc.bigInt({ min: 0n, max: 10n ** 24n })
const quantities = fc
  .array(fc.oneof(quantity, fc.bigInt({ min: 0n, max: 5n })), { minLength: 1, maxLength: 30 })
  .filter((all) => all.some((one) => one > 0n))

test('shares add up to the amount, and each is within a unit of its part', () => {
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
  fc.assert(property, billingCases())
})

test('what is left goes to the largest remainders, the first of equal ones first', () => {
  assert.deepEqual(allocate(10n, [1n, 1n, 1n]), [4n, 3n, 3n])
  assert.deepEqual(allocate(1n, [1n, 2n, 1n]), [0n, 1n, 0n])
  assert.deepEqual(allocate(0n, [0n, 0n]), [0n, 0n])
  assert.throws(() => allocate(1n, [0n]), RangeError)
  assert.throws(() => allocate(-1n, [1n]), RangeError)
})

function byQuantity([a]: readonly [bigint, bigint], [b]: readonly [bigint, bigint]): number {
  return a < b ? -1 : Number(a > b)
}
