import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Meter } from '@computer/contract'
import fc from 'fast-check'
import { tryProperty } from '../../../scripts/soak/properties.ts'
import { endOfMonth, secondsBetween, startOfMonth } from './calendar.ts'
import { computeAllowance } from './compute-allowance.ts'
import { toDecimal, toStandardHours } from './rating-decimals.ts'
import { amountOf, priceItemOf, rate, standardHour, type Rating, type Tariff } from './rating.ts'

/** Far beyond 2^53 and 10^21. */
const huge = 10n ** 30n

const quantity = fc.oneof(
  fc.bigInt({ min: 0n, max: 10_000n }),
  fc.bigInt({ min: 0n, max: 10_000_000n }),
  fc.bigInt({ min: 0n, max: huge }),
)
const price = fc.record({
  cents: fc.bigInt({ min: 0n, max: 100_000n }),
  perUnits: fc.bigInt({ min: 1n, max: 10n ** 16n }),
})
const usage = fc
  .record({
    compute_small_seconds: quantity,
    compute_standard_seconds: quantity,
    compute_large_seconds: quantity,
    hot_storage_byte_seconds: quantity,
    cold_storage_byte_seconds: quantity,
    egress_bytes: quantity,
  })
  .map((amounts) => new Map(Object.entries(amounts) as [Meter, bigint][]))
const weight = fc.bigInt({ min: 1n, max: 10_000n })
const monthStart = fc
  .tuple(fc.integer({ min: 2024, max: 2060 }), fc.integer({ min: 0, max: 11 }))
  .map(([year, month]) => new Date(Date.UTC(year, month, 1)))
const tariff: fc.Arbitrary<Tariff> = fc
  .record({
    weights: fc.tuple(weight, weight, weight),
    prices: fc.record(
      { compute: price, hot_storage: price, cold_storage: price, egress: price },
      { requiredKeys: [] },
    ),
    includedStandardHours: fc.bigInt({ min: 0n, max: 10_000n }),
    includedHotStorageBytes: fc.bigInt({ min: 0n, max: 2n ** 50n }),
    overageAllowed: fc.boolean(),
    month: monthStart,
    hours: fc.bigInt({ min: 1n, max: 672n }),
  })
  .map(({ weights: [small, standard, large], month, hours, ...rest }) => ({
    ...rest,
    sizes: [
      { id: 'small', weightMilli: small },
      { id: 'standard', weightMilli: standard },
      { id: 'large', weightMilli: large },
    ],
    periodSeconds: hours * 3_600n,
    allowanceSeconds: secondsBetween(month, endOfMonth(month)),
  }))

test('included and billable add up, amounts are exact to half a cent, and the lines are the total', async () => {
  await tryProperty(
    fc.property(tariff, usage, (terms, used) => {
      const { lines, credits, totalCents } = rate(terms, used)
      assert.equal(lines.length, used.size)
      for (const { meter, quantity: all, included, billable, amountCents } of lines) {
        assert.equal(all, used.get(meter))
        assert.equal(included + billable, all)
        assert.ok(included >= 0n && billable >= 0n)
        const { cents, perUnits } = terms.prices[priceItemOf(meter)] ?? { cents: 0n, perUnits: 1n }
        const exact = billable * weightOf(terms, meter) * cents
        const difference = 2n * (amountCents * perUnits - exact)
        if (terms.overageAllowed) assert.ok(-perUnits < difference && difference <= perUnits)
        else assert.equal(amountCents, 0n)
      }
      assert.equal(sumOf(lines.map((line) => line.amountCents)), totalCents)
      assert.ok(credits.remaining >= 0n)
      assert.equal(
        credits.remaining,
        credits.used < credits.included ? credits.included - credits.used : 0n,
      )
      // All of the included compute is used up, but for the part of a second of each size.
      const spent = sumOf(lines.map(({ meter, included }) => included * weightOf(terms, meter, 0n)))
      assert.ok(spent <= credits.included)
      const heaviest = sumOf(terms.sizes.map(({ weightMilli }) => weightMilli))
      const least = credits.used < credits.included ? credits.used : credits.included
      assert.ok(spent > least - heaviest)
    }),
  )
})

test('more use is never less to pay for, and never costs less but for a cent of rounding', async () => {
  await tryProperty(
    fc.property(tariff, usage, usage, (terms, used, added) => {
      const more = new Map([...used].map(([meter, amount]) => [meter, amount + added.get(meter)!]))
      const [after, before] = [rate(terms, more), rate(terms, used)]
      assert.ok(after.totalCents >= before.totalCents - 1n)
      // Of compute, all sizes together: more of one may leave another a rest of the pool that it can use.
      const billedOf = ({ lines }: Rating) =>
        sumOf(lines.map(({ meter, billable }) => billable * weightOf(terms, meter, 0n)))
      assert.ok(billedOf(after) >= billedOf(before))
    }),
  )
})

test('the same use of a whole month has the same price in every month', async () => {
  await tryProperty(
    fc.property(
      tariff,
      usage,
      monthStart,
      monthStart,
      fc.boolean(),
      (terms, used, one, other, isFirst) => {
        const rateMonth = (month: Date): Rating => {
          const seconds = secondsBetween(startOfMonth(month), endOfMonth(month))
          assert.ok([28n, 29n, 30n, 31n].includes(seconds / 86_400n))
          assert.equal(seconds % 86_400n, 0n)
          // The disk that is included, and a fixed use beyond it.
          const hot =
            terms.includedHotStorageBytes * seconds + used.get('hot_storage_byte_seconds')!
          const ofMonth = new Map([...used, ['hot_storage_byte_seconds' as const, hot]])
          const period = { starts_at: month, ends_at: endOfMonth(month), terms: {} }
          const plan = { included_standard_hours: Number(terms.includedStandardHours) }
          const allowance = computeAllowance({ ...period, has_whole_allowance: isFirst }, plan)
          return rate({ ...terms, ...allowance }, ofMonth)
        }
        const [a, b] = [rateMonth(one), rateMonth(other)]
        assert.equal(a.totalCents, b.totalCents)
        assert.deepEqual(a.credits, b.credits)
        assert.deepEqual(
          a.lines.map(({ meter, billable, amountCents }) => [meter, billable, amountCents]),
          b.lines.map(({ meter, billable, amountCents }) => [meter, billable, amountCents]),
        )
      },
    ),
  )
})

test('the parts of a month include together what it includes, but for less than a unit each', async () => {
  const cuts = fc.array(fc.integer({ min: 1, max: 671 }), { maxLength: 5 })
  await tryProperty(
    fc.property(tariff, monthStart, cuts, (terms, month, hours) => {
      const allowanceSeconds = secondsBetween(month, endOfMonth(month))
      const includedIn = (periodSeconds: bigint) =>
        rate({ ...terms, periodSeconds, allowanceSeconds }, new Map()).credits.included
      const ends = [...new Set(hours)]
        .toSorted((a, b) => a - b)
        .map((hour) => BigInt(hour) * 3_600n)
      const edges = [0n, ...ends, allowanceSeconds]
      const parts = edges.slice(1).map((end, index) => includedIn(end - edges[index]!))
      const whole = includedIn(allowanceSeconds)
      assert.equal(whole, terms.includedStandardHours * standardHour)
      assert.ok(sumOf(parts) <= whole)
      assert.ok(sumOf(parts) > whole - BigInt(parts.length))
    }),
  )
})

test('months have their lengths, also in a leap year and over the end of a year', () => {
  const days = (text: string) => {
    const start = new Date(text)
    return Number(secondsBetween(start, endOfMonth(start)) / 86_400n)
  }
  assert.deepEqual(
    ['2026-01-01', '2026-02-01', '2028-02-01', '2100-02-01', '2000-02-01', '2026-04-01'].map(days),
    [31, 28, 29, 28, 29, 30],
  )
  assert.equal(
    endOfMonth(new Date('2026-12-31T23:59:59.999Z')).toISOString(),
    '2027-01-01T00:00:00.000Z',
  )
  assert.equal(
    startOfMonth(new Date('2027-01-01T00:00:00Z')).toISOString(),
    '2027-01-01T00:00:00.000Z',
  )
})

test('quantities beyond 2^53 and 10^21 stay exact, as decimal strings', async () => {
  const large = fc.bigInt({ min: 2n ** 53n, max: huge })
  await tryProperty(
    fc.property(tariff, large, large, (terms, compute, egress) => {
      const used = new Map<Meter, bigint>([
        ['compute_large_seconds', compute],
        ['egress_bytes', egress],
      ])
      const { lines } = rate(terms, used)
      for (const { meter, quantity: all, included, billable } of lines) {
        assert.match(String(all), /^\d+$/)
        assert.equal(BigInt(String(all)), used.get(meter) ?? 0n)
        assert.equal(BigInt(String(included)) + BigInt(String(billable)), all)
      }
      // The integer part of a decimal is exact too.
      assert.equal(toDecimal(egress), `${egress}.000000`)
      assert.equal(
        toStandardHours({ included: egress * standardHour, used: 0n }).included,
        `${egress}.000000`,
      )
    }),
  )
})

test('what remains of the credits is the difference that is shown', async () => {
  const credits = fc.record({ included: quantity, used: quantity })
  await tryProperty(
    fc.property(credits, (terms) => {
      const { included, used, remaining } = toStandardHours(terms)
      const scaled = (text: string) => {
        assert.match(text, /^\d+\.\d{6}$/)
        return BigInt(text.replace('.', ''))
      }
      const difference = scaled(included) - scaled(used)
      assert.equal(scaled(remaining), difference > 0n ? difference : 0n)
    }),
  )
})

test('a month as a person would work it out', () => {
  const { lines, credits, totalCents } = rate(
    {
      sizes: [
        { id: 'small', weightMilli: 500n },
        { id: 'standard', weightMilli: 1_000n },
      ],
      prices: {
        compute: { cents: 10n, perUnits: standardHour },
        egress: { cents: 5n, perUnits: 2n ** 30n },
      },
      includedStandardHours: 120n,
      includedHotStorageBytes: 10n,
      overageAllowed: true,
      periodSeconds: 30n * 86_400n,
      allowanceSeconds: 30n * 86_400n,
    },
    new Map<Meter, bigint>([
      // 100 standard-hours, then 50 of which 20 are included.
      ['compute_small_seconds', 200n * 3_600n],
      ['compute_standard_seconds', 50n * 3_600n],
      ['egress_bytes', 3n * 2n ** 30n + 2n ** 29n],
    ]),
  )
  const amounts = lines.map(({ meter, billable, amountCents }) => [meter, billable, amountCents])
  assert.deepEqual(amounts, [
    ['compute_small_seconds', 0n, 0n],
    ['compute_standard_seconds', 30n * 3_600n, 300n],
    ['hot_storage_byte_seconds', 0n, 0n],
    ['cold_storage_byte_seconds', 0n, 0n],
    // 17.5 cents.
    ['egress_bytes', 3n * 2n ** 30n + 2n ** 29n, 18n],
  ])
  assert.equal(totalCents, 318n)
  assert.deepEqual(toStandardHours(credits), {
    included: '120.000000',
    used: '150.000000',
    remaining: '0.000000',
  })
})

test('half a cent is rounded up, and what is not priced costs nothing', () => {
  const half = { cents: 1n, perUnits: 2n }
  assert.deepEqual(
    [0n, 1n, 2n, 3n].map((units) => amountOf(half, units)),
    [0n, 1n, 1n, 2n],
  )
  assert.equal(amountOf(undefined, huge), 0n)
})

function weightOf({ sizes }: Tariff, meter: Meter, other = 1n): bigint {
  return sizes.find(({ id }) => meter === `compute_${id}_seconds`)?.weightMilli ?? other
}

function sumOf(amounts: readonly bigint[]): bigint {
  return amounts.reduce((sum, amount) => sum + amount, 0n)
}
