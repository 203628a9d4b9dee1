import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runStorm } from './storm.ts'

/* The short run of `npm run faults`. A failure names the seed to run it again with. */

const seed = Number(process.env['COMPUTER_FAULTS_SEED'] ?? 2026)

test(`what is acknowledged outlives kills of every process (seed ${seed})`, async (t) => {
  const { counts, differences } = await runStorm({
    seed,
    operations: 60,
    kills: 20,
    logFolder: `/var/tmp/computer-faults-logs-${seed}`,
    say: (text) => t.diagnostic(text),
  })
  assert.deepEqual(differences, [])
  assert.ok(counts.operations >= 60)
  assert.equal(
    [...counts.kills.values()].reduce((sum, count) => sum + count, 0),
    20,
  )
})
