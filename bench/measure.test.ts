import assert from 'node:assert/strict'
import { test } from 'node:test'
import { comparePairs, distribution, judge, medianInterval, medianOf, quantile } from './measure.ts'

const pairsOf = (ratios: readonly number[]) =>
  ratios.map((ratio) => ({ baseline: { ms: 100 }, ours: { ms: 100 * ratio } }))

test('quantiles are values or are interpolated between two', () => {
  assert.equal(quantile([1, 2, 3, 4, 5], 0.5), 3)
  assert.equal(quantile([1, 2], 0.5), 1.5)
  assert.equal(quantile([7], 0.95), 7)
  assert.ok(Number.isNaN(quantile([], 0.5)))
})

test('a distribution accepts unsorted values and does not reorder them', () => {
  const values = [30, 10, 20]
  assert.deepEqual(distribution(values), { p50: 20, p95: 29, max: 30 })
  assert.deepEqual(values, [30, 10, 20])
})

test('the interval contains the median and is the same for the same values', () => {
  const values = Array.from({ length: 101 }, (_, index) => index)
  const interval = medianInterval(values)
  assert.equal(interval.median, 50)
  assert.ok(interval.low < 50 && interval.low > 30)
  assert.ok(interval.high > 50 && interval.high < 70)
  assert.deepEqual(medianInterval(values), interval)
})

test('one outlier moves neither the median nor the interval', () => {
  const { median, high } = medianInterval([...Array.from({ length: 30 }, () => 1), 1000])
  assert.equal(median, 1)
  assert.equal(high, 1)
})

test('ratios are taken within pairs', () => {
  // The host was ten times slower in the second pair: the ratio is the same in both.
  const { ratio, verdict } = comparePairs(
    [
      { baseline: { ms: 10 }, ours: { ms: 5 } },
      { baseline: { ms: 100 }, ours: { ms: 50 } },
    ],
    { ratio: 0.6 },
  )
  assert.equal(ratio.median, 0.5)
  assert.equal(verdict, 'met')
})

test('a target is met only if the whole interval is within it', () => {
  const target = { ratio: 1, stretch: 0.5 }
  assert.equal(judge({ median: 0.4, low: 0.3, high: 0.5 }, target), 'stretch')
  assert.equal(judge({ median: 0.4, low: 0.3, high: 0.6 }, target), 'met')
  assert.equal(judge({ median: 0.9, low: 0.8, high: 1.1 }, target), 'unclear')
  assert.equal(judge({ median: 1.2, low: 1.1, high: 1.3 }, target), 'missed')
})

test('one wrong result of ours fails the row; wrong results of the baseline are counted', () => {
  const fast = pairsOf([0.1, 0.1, 0.1])
  const target = { ratio: 1 }
  assert.equal(comparePairs(fast, target).verdict, 'met')
  const ours = comparePairs(
    [...fast, { baseline: { ms: 100 }, ours: { ms: 1, wrong: 'exit code 1' } }],
    target,
  )
  assert.equal(ours.verdict, 'FAIL')
  assert.deepEqual(ours.wrong, ['exit code 1'])
  const baseline = comparePairs(
    [...fast, { baseline: { ms: 100, wrong: 'no text' }, ours: { ms: 1 } }],
    target,
  )
  assert.equal(baseline.verdict, 'met')
  assert.equal(baseline.baselineWrong, 1)
})

test('an unmeasured pair does not count, and a row without pairs fails', () => {
  const broken = { baseline: { ms: 100 }, ours: { ms: NaN, wrong: 'no answer' } }
  assert.equal(comparePairs([broken], { ratio: 1 }).verdict, 'FAIL')
  assert.equal(comparePairs([], { ratio: 1 }).verdict, 'FAIL')
  assert.equal(comparePairs([...pairsOf([0.5]), broken], { ratio: 1 }).pairs, 1)
})

test('the median of an even number of values', () => {
  assert.equal(medianOf([4, 1, 3, 2]), 2.5)
})
