import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startTestServer } from '../../server/test/harness.ts'
import { describe, playHistories } from './histories.ts'

/*
 * The short run of `npm run leases`: many short histories with a real agent and display. A failure
 * names the seed to run it again with; how calls interleave is the machine's to decide.
 */

const seed = Number(process.env['COMPUTER_LEASES_SEED'] ?? 2026)
const server = await startTestServer({ after })

test(`of every history, what lands at X keeps the lease's promises (seed ${seed})`, async (t) => {
  const histories = 300
  const result = await playHistories(server, { seed, histories, operations: 40, machines: 4 })
  t.diagnostic(describe(result))
  assert.deepEqual(
    result.broken.map(({ index, violations }) => ({ index, violations })),
    [],
  )
  assert.equal(result.played, histories)
  const { done, refused, expiries } = result.counts
  for (const count of [done, refused, expiries]) assert.ok(count > histories)
})
