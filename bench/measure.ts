import { createRandom } from '../e2e/harness/random.ts'

/*
 * The statistics of the benchmarks. A row runs ours and a baseline alternately on the same host and takes
 * the ratio within each pair, because other load on the host slows both. The result is the median of
 * these ratios with a 95 % bootstrap interval. A target is met only if the whole interval is within it.
 */

/** The duration of one run, and a description of its result if that was wrong. */
export type Sample = { readonly ms: number; readonly wrong?: string | undefined }
export type Pair = { readonly baseline: Sample; readonly ours: Sample }

/** Limits for the ratio of ours to the baseline, and for the p50 of ours. */
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
  /** Descriptions of our wrong results. A single one fails the row. */
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

/** `unclear`: the target lies inside the interval; more pairs or a quieter host would decide. */
export function judge(ratio: Interval, target: Target): Verdict {
  if (target.stretch !== undefined && ratio.high <= target.stretch) return 'stretch'
  if (ratio.high <= target.ratio) return 'met'
  return ratio.low <= target.ratio ? 'unclear' : 'missed'
}

export function distribution(values: readonly number[]): Distribution {
  const sorted = values.toSorted((a, b) => a - b)
  return { p50: quantile(sorted, 0.5), p95: quantile(sorted, 0.95), max: quantile(sorted, 1) }
}

/** The median with its bootstrap interval, which is the same for the same values. */
export function medianInterval(values: readonly number[], rounds = 2000): Interval {
  const median = medianOf(values)
  if (values.length < 2) return { median, low: median, high: median }
  const random = createRandom(values.length)
  const medians = Array.from({ length: rounds }, () =>
    medianOf(values.map(() => random.pick(values))),
  ).sort((a, b) => a - b)
  return { median, low: quantile(medians, 0.025), high: quantile(medians, 0.975) }
}

export function medianOf(values: readonly number[]): number {
  return quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  )
}

/** Interpolates between neighbours. NaN for an empty list. */
export function quantile(sorted: readonly number[], q: number): number {
  const at = (sorted.length - 1) * q
  const below = sorted[Math.floor(at)]
  const above = sorted[Math.ceil(at)]
  if (below === undefined || above === undefined) return NaN
  return below + (above - below) * (at - Math.floor(at))
}
