import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startTestServer } from '../../server/test/harness.ts'
import { playHistories } from './histories.ts'
import { serverOptions } from './machine.ts'

/* Proves that histories find a mistake: the same histories, with a server that makes it. */

const server = await startTestServer({ after }, serverOptions)

test('stale input that lands because the agent does not know where a holding began is found', async () => {
  const { broken } = await playHistories(server, {
    seed: 2026,
    histories: 100,
    operations: 40,
    machines: 1,
    mistake: (guests) => ({
      ...guests,
      setFence: (ref, fence, options) => guests.setFence(ref, { ...fence, since: 0 }, options),
    }),
  })
  const kinds = broken.flatMap(({ violations }) => violations.map(({ kind }) => kind))
  assert.ok(kinds.includes('stale') || kinds.includes('order'), `found ${kinds.join(', ')}`)
})
