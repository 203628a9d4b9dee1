import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { watchOutput } from '../../e2e/harness/host-server.ts'
import { formCluster } from '../../e2e/cluster/members.ts'

/* The suites of the driver, run by a process beside an engine that is one of three members of a cluster. */

const suites = ['incus-driver.test.ts', 'incus-transfers.test.ts']

test('the engine of a member of a cluster is like one that is alone', async (t) => {
  const { members } = await formCluster(t, 3)
  // Not the one that began the cluster.
  const { spawn, engineDir } = members[1]!
  const { NODE_TEST_CONTEXT: _, ...inherited } = process.env
  const env = { ...inherited, COMPUTER_TEST_ENGINE_SOCKET: join(engineDir, 'unix.socket') }
  const files = suites.map((name) => join(import.meta.dirname, name))
  const options = ['--test', '--test-concurrency=1', '--test-reporter=tap']
  const { child, output } = watchOutput(spawn([process.execPath, ...options, ...files], env))
  await once(child, 'close')
  assert.equal(child.exitCode, 0, output())
  const passed = Number(/^# pass (\d+)$/m.exec(output())?.[1])
  assert.ok(passed > 40, output())
  assert.match(output(), /^# skipped 0$/m)
})
