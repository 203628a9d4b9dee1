import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { after, test } from 'node:test'
import { soakSeed, soakSize } from '../../scripts/soak/sizes.ts'
import { startTestServer } from '../../server/test/harness.ts'
import { describe, playHistories } from './histories.ts'
import { serverOptions } from './machine.ts'

/*
 * Histories of the input lease with a real agent and display, checked against the input that lands at X. A
 * failure names the seed (`npm run soak -- leases --seed N`) and keeps the history. The seed does not
 * determine how calls interleave.
 */

const seed = soakSeed(2026)
const { histories, operations } = soakSize('leases')
const server = await startTestServer({ after }, serverOptions)

test(`the input that lands at X keeps the lease's promises in every history (seed ${seed})`, async (t) => {
  const result = await playHistories(server, { seed, histories, operations, machines: 4 })
  t.diagnostic(describe(result))
  for (const { index, history } of result.broken) {
    const folder = process.env['COMPUTER_TEST_LOGS'] ?? '/var/tmp'
    const file = `${folder}/computer-leases-${seed}-${index}.json`
    await writeFile(file, JSON.stringify(history, null, 1))
    t.diagnostic(`history ${index} is in ${file}`)
  }
  assert.deepEqual(
    result.broken.map(({ index, violations }) => ({ index, violations })),
    [],
  )
  assert.equal(result.played, histories)
  const { done, refused, expiries, helped } = result.counts
  for (const count of [done, refused, expiries]) assert.ok(count > histories)
  assert.ok(helped > histories / 3)
})
