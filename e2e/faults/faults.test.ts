import assert from 'node:assert/strict'
import { test } from 'node:test'
import { soakSeed, soakSize } from '../../scripts/soak/sizes.ts'
import { describe } from './describe.ts'
import { runStorm } from './storm.ts'

/*
 * Operations on real machines while processes of the server are killed, and whether rows, engine and
 * kernel agree afterwards. A failure names the seed: `npm run soak -- faults --seed N`.
 */

const seed = soakSeed(2026)
const { operations, kills } = soakSize('faults')

test(`what is acknowledged outlives kills of every process (seed ${seed})`, async (t) => {
  const result = await runStorm({
    seed,
    operations,
    kills,
    logFolder: process.env['COMPUTER_TEST_LOGS'] ?? `/var/tmp/computer-faults-logs-${seed}`,
    say: (text) => t.diagnostic(text),
  })
  t.diagnostic(describe(result))
  const { counts, differences } = result
  assert.deepEqual(differences, [])
  assert.ok(counts.operations >= operations)
  assert.equal(
    [...counts.kills.values()].reduce((sum, count) => sum + count, 0),
    kills,
  )
})
