import { quantile } from '../../bench/measure.ts'
import type { StormResult } from './storm.ts'

/** The figures of a storm, a line each. */
export function describe({ failedStarts, rests, counts }: StormResult): string {
  const show = (numbers: ReadonlyMap<string, number>) =>
    [...numbers].map(([name, count]) => `${name} ${count}`).join(', ')
  const killed = [...counts.kills.values()].reduce((sum, count) => sum + count, 0)
  return [
    `${counts.operations} operations: ${show(counts.byOperation)}`,
    `${killed} kills: ${show(counts.kills)}; ${failedStarts} starts given up`,
    `${counts.repeated} calls repeated; answers of 500: ${show(counts.internalErrors) || 'none'}`,
    `accepted, and failed with an event: ${counts.failures.length}`,
    ...counts.failures.map((failure) => `  ${failure}`),
    `rows at rest after a restart: ${times(rests.map(({ restMs }) => restMs))}`,
    `engine and kernel clean after that: ${times(rests.map(({ cleanMs }) => cleanMs))}`,
  ].join('\n')
}

function times(list: readonly number[]): string {
  const sorted = list.toSorted((a, b) => a - b)
  const at = (q: number) => `${(quantile(sorted, q) / 1000).toFixed(1)} s`
  return `p50 ${at(0.5)}, p99 ${at(0.99)}, most ${at(1)}`
}
