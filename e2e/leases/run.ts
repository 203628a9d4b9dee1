import { randomInt } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { startTestServer } from '../../server/test/harness.ts'
import { describe, playHistories } from './histories.ts'

/*
 * `npm run leases -- --histories 10000 --operations 200 --seed N`: histories of the input lease, checked
 * against what lands at X. One that breaks a promise ends the run and is written down whole.
 * An interrupt ends it too, after the histories that are under way.
 */
const { values } = parseArgs({
  options: {
    histories: { type: 'string', default: '1000' },
    operations: { type: 'string', default: '40' },
    machines: { type: 'string', default: '4' },
    seed: { type: 'string', default: String(randomInt(1, 2 ** 31)) },
  },
})
const seed = Number(values.seed)
const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => stopping.abort())
}
console.log(`seed ${seed}`)
await using ends = new AsyncDisposableStack()
const server = await startTestServer({ after: (end) => ends.defer(async () => end()) })
const result = await playHistories(server, {
  seed,
  histories: Number(values.histories),
  operations: Number(values.operations),
  machines: Number(values.machines),
  signal: stopping.signal,
  onPlayed(played) {
    if (played % 100 === 0) console.log(`${new Date().toISOString().slice(11, 19)} ${played}`)
  },
})
console.log(describe(result))
for (const { index, violations, history } of result.broken) {
  const file = `/var/tmp/computer-leases-${seed}-${index}.json`
  await writeFile(file, JSON.stringify(history, null, 1))
  console.log(`\nHistory ${index} (again with --seed ${seed}), whole in ${file}:`)
  for (const { text } of violations) console.log(`- ${text}`)
  process.exitCode = 1
}
