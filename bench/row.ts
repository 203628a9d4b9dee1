import type { Api } from './api.ts'
import type { Incus } from './incus.ts'
import { comparePairs, type Comparison, type Sample, type Target } from './measure.ts'
import { pairUp, type Plan } from './rounds.ts'

/** What a bench gets: the server, the engine's own client, and how long to measure. */
export type BenchContext = {
  readonly api: Api
  readonly dataDir: string
  readonly incus: Incus
  /** Rounds for what takes long and for what takes less than 50 ms; how long rest is observed. */
  readonly plan: { readonly slow: Plan; readonly fast: Plan; readonly restMs: number }
  readonly say: (progress: string) => void
}

/** One bench measures one row of the goals, which may be compared with more than one baseline. */
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
  /** What else a reader should know, such as characters that came out right. */
  readonly note?: string
}

/** The row of one side beside another, from the rounds in which both took their turns. */
export function compareSides<Name extends string>(
  rounds: readonly Record<Name, Sample>[],
  sides: { readonly baseline: Name; readonly ours: Name },
  row: Omit<ComparedRow, 'kind' | 'comparison'>,
): ComparedRow {
  const pairs = pairUp(rounds, sides.baseline, sides.ours)
  return { kind: 'compared', ...row, comparison: comparePairs(pairs, row.target) }
}

/** A figure without a baseline, such as memory. */
export type FigureRow = {
  readonly kind: 'figure'
  readonly id: string
  readonly what: string
  readonly value: number
  readonly unit: 'MB' | '% CPU' | 'ms' | 'a second'
  /** At most that. Without it the figure is for orientation. */
  readonly limit?: number
}
