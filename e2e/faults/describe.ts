import { quantile } from '../../bench/measure.ts'
import type { StormResult } from './storm.ts'

/** Describes a storm, one figure per line. */
export function describe({ failedStarts, moves, rounds, counts }: StormResult): string {
  const show = (numbers: ReadonlyMap<string, number>) =>
    [...numbers].map(([name, count]) => `${name} ${count}`).join(', ')
  const killed = [...counts.kills.values()].reduce((sum, count) => sum + count, 0)
  return [
    `${counts.operations} operations: ${show(counts.byOperation)}`,
    `${killed} kills: ${show(counts.kills)}; ${failedStarts} failed starts`,
    `${moves} moves of running machines to another host`,
    `${counts.retries} retries; answers with 500: ${show(counts.internalErrors) || 'none'}`,
    `accepted operations that failed with an event: ${counts.failures.length}`,
    ...counts.failures.map((failure) => `  ${failure}`),
    `rows settled after a restart: ${times(rounds.map(({ settleMs }) => settleMs))}`,
    `engine and kernel clean after that: ${times(rounds.map(({ cleanMs }) => cleanMs))}`,
  ].join('\n')
}

function times(list: readonly number[]): string {
  const sorted = list.toSorted((a, b) => a - b)
  const at = (q: number) => `${(quantile(sorted, q) / 1000).toFixed(1)} s`
  return `p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)}`
}
