import type { ApiClient } from '../e2e/harness/api.ts'
import type { Incus } from './incus.ts'
import { comparePairs, type Comparison, type Pair, type Sample, type Target } from './measure.ts'
import { pairUp, type Plan } from './rounds.ts'

/** The server, the engine's own client, and how long to measure. */
export type BenchContext = {
  readonly api: ApiClient
  readonly dataDir: string
  readonly incus: Incus
  /** `fast` is for operations below 50 ms; `restMs` is how long idle processes are observed. */
  readonly plan: { readonly slow: Plan; readonly fast: Plan; readonly restMs: number }
  readonly say: (progress: string) => void
}

/** Measures one row of the goals, possibly against several baselines. */
export type Bench = {
  readonly name: string
  readonly title: string
  run(context: BenchContext): Promise<readonly Row[]>
}

export type Row = ComparedRow | FigureRow

export type ComparedRow = {
  readonly kind: 'compared'
  readonly id: string
  readonly ours: string
  readonly baseline: string
  readonly target: Target
  readonly comparison: Comparison
  /** Something else to know, such as the number of exact characters. */
  readonly note?: string
}

/** Compares two sides of the same rounds. */
export function compareSides<Name extends string>(
  rounds: readonly Record<Name, Sample>[],
  sides: { readonly baseline: Name; readonly ours: Name },
  row: Omit<ComparedRow, 'kind' | 'comparison'>,
): ComparedRow {
  return compareRounds(pairUp(rounds, sides.baseline, sides.ours), row)
}

/** Compares the two sides of rounds that have no others. */
export function compareRounds(
  rounds: readonly Pair[],
  row: Omit<ComparedRow, 'kind' | 'comparison'>,
): ComparedRow {
  return { kind: 'compared', ...row, comparison: comparePairs(rounds, row.target) }
}

/** A figure without a baseline, such as memory. */
export type FigureRow = {
  readonly kind: 'figure'
  readonly id: string
  readonly what: string
  readonly value: number
  readonly unit: '' | 'KB' | 'MB' | '% CPU' | '%' | 'ms' | 'min' | 'a second' | '×'
  /** The maximum. Without it the figure is for orientation. */
  readonly limit?: number
}
