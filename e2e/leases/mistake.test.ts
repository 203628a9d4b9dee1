import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startTestServer } from '../../server/test/harness.ts'
import { playHistories } from './histories.ts'

/* That histories would find a mistake: the same ones, with a server that makes it. */

const server = await startTestServer({ after })

test('an agent that is not told where a holding began lets stale input land, and that is found', async () => {
  const { broken } = await playHistories(server, {
    seed: 2026,
    histories: 100,
    operations: 40,
    machines: 1,
    mistake: (guests) => ({
      ...guests,
      setFence: (ref, told, options) => guests.setFence(ref, { ...told, since: 0 }, options),
    }),
  })
  const kinds = broken.flatMap(({ violations }) => violations.map(({ kind }) => kind))
  assert.ok(kinds.includes('stale') || kinds.includes('order'), `found ${kinds.join(', ')}`)
})
