import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startComputer } from './computer.ts'

const { run, json, server } = await startComputer({ after })

test('a conflict over the input lease names its holder, with --json in fields', async () => {
  const { id, name } = await server.machine()
  const snapshot = await json('snapshots', 'create', name)
  const { sessionId } = await server.lease(id)
  const restore = ['machines', 'restore', name, snapshot.id, '--yes']

  const refused = await run(restore)
  assert.equal(refused.code, 6)
  assert.match(refused.stderr, new RegExp(`${sessionId}, .*"Owner key" \\(your own key\\), until`))

  const { code, stderr } = await run([...restore, '--json'])
  const { error } = JSON.parse(stderr)
  assert.deepEqual([code, error.code], [6, 'conflict'])
  const { session_id, type, opened_by, is_own } = error.holder
  assert.deepEqual(
    [session_id, type, opened_by.name, is_own],
    [sessionId, 'agent', 'Owner key', true],
  )
})
