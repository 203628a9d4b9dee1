import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { quantile } from '../../bench/measure.ts'
import { shareImageCache } from '../harness/image-cache.ts'
import { runStorm, type StormResult } from './storm.ts'

/*
 * `npm run faults -- --ops 2000 --kills 500 --seed N`: operations on real machines while processes of
 * the server are killed, and whether rows, engine and kernel agree afterwards.
 */
const { values } = parseArgs({
  options: {
    ops: { type: 'string', default: '500' },
    kills: { type: 'string', default: '120' },
    seed: { type: 'string', default: String(randomInt(1, 2 ** 31)) },
  },
})
const seed = Number(values.seed)
const logFolder = `/var/tmp/computer-faults-logs-${seed}`
console.log(`seed ${seed}`)
shareImageCache()
const result = await runStorm({
  seed,
  operations: Number(values.ops),
  kills: Number(values.kills),
  logFolder,
  say: (text) => console.log(`${new Date().toISOString().slice(11, 19)} ${text}`),
})
console.log(describe(result))
if (result.differences.length > 0) {
  console.log(`\nNot as it should be (logs in ${logFolder}, again with --seed ${seed}):`)
  for (const difference of result.differences) console.log(`- ${difference}`)
  process.exitCode = 1
}

function describe({ failedStarts, rests, counts }: StormResult): string {
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
