/*
 * The statistics of the bench. A row compares ours with what a user would pick instead, both run in
 * turn on the same machine, so what counts is the ratio within each pair: whatever else the host was
 * doing then slowed both. The figure is the median of these ratios with a bootstrap interval of 95 %,
 * and a target is met only when the whole interval lies within it.
 */

/** How long one try took, and what was wrong with its result if anything was. */
export type Sample = { readonly ms: number; readonly wrong?: string | undefined }
export type Pair = { readonly baseline: Sample; readonly ours: Sample }

/** Ratios of ours to the baseline, and milliseconds of ours. */
export type Target = {
  readonly ratio: number
  readonly stretch?: number
  readonly p50Ms?: number
}

export type Interval = { readonly median: number; readonly low: number; readonly high: number }
export type Distribution = { readonly p50: number; readonly p95: number; readonly max: number }
export type Verdict = 'stretch' | 'met' | 'unclear' | 'missed' | 'FAIL'

export type Comparison = {
  readonly pairs: number
  readonly ratio: Interval
  readonly baselineMs: Distribution
  readonly oursMs: Distribution
  /** Each wrong result of ours, in words. A single one fails the row, however fast it was. */
  readonly wrong: readonly string[]
  readonly baselineWrong: number
  readonly verdict: Verdict
}

export function comparePairs(pairs: readonly Pair[], target: Target): Comparison {
  const whole = pairs.filter(({ baseline, ours }) => baseline.ms > 0 && ours.ms > 0)
  const ratio = medianInterval(whole.map(({ baseline, ours }) => ours.ms / baseline.ms))
  const wrong = pairs.flatMap(({ ours }) => ours.wrong ?? [])
  return {
    pairs: whole.length,
    ratio,
    baselineMs: distribution(whole.map(({ baseline }) => baseline.ms)),
    oursMs: distribution(whole.map(({ ours }) => ours.ms)),
    wrong,
    baselineWrong: pairs.filter(({ baseline }) => baseline.wrong !== undefined).length,
    verdict: whole.length === 0 || wrong.length > 0 ? 'FAIL' : judge(ratio, target),
  }
}

/** `unclear`: the interval holds the target, so that more pairs or a quieter host would decide. */
export function judge(ratio: Interval, target: Target): Verdict {
  if (target.stretch !== undefined && ratio.high <= target.stretch) return 'stretch'
  if (ratio.high <= target.ratio) return 'met'
  return ratio.low <= target.ratio ? 'unclear' : 'missed'
}

export function distribution(values: readonly number[]): Distribution {
  const sorted = values.toSorted((a, b) => a - b)
  return { p50: quantile(sorted, 0.5), p95: quantile(sorted, 0.95), max: quantile(sorted, 1) }
}

/** The median, and where 95 % of the medians of resampled values lie. The same values, the same interval. */
export function medianInterval(values: readonly number[], rounds = 2000): Interval {
  const median = medianOf(values)
  if (values.length < 2) return { median, low: median, high: median }
  const random = seededRandom(values.length)
  const medians = Array.from({ length: rounds }, () =>
    medianOf(values.map(() => values[Math.floor(random() * values.length)]!)),
  ).sort((a, b) => a - b)
  return { median, low: quantile(medians, 0.025), high: quantile(medians, 0.975) }
}

export function medianOf(values: readonly number[]): number {
  return quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  )
}

/** Between two neighbours the value is interpolated. NaN of nothing. */
export function quantile(sorted: readonly number[], q: number): number {
  const at = (sorted.length - 1) * q
  const below = sorted[Math.floor(at)]
  const above = sorted[Math.ceil(at)]
  if (below === undefined || above === undefined) return NaN
  return below + (above - below) * (at - Math.floor(at))
}

/** mulberry32. */
function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
