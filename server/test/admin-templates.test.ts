import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { runAdmin } from './admin-process.ts'
import { startTestServer } from './harness.ts'

const server = await startTestServer({ after }, { worker: false })

test('a template that does not exist is not kept warm, and neither are too many machines', async () => {
  const id = `tpl_${'0'.repeat(26)}`
  const unknown = await setWarm(id, '1')
  assert.deepEqual([unknown.code, unknown.stdout], [1, ''])
  assert.match(unknown.stderr, new RegExp(`there is no template ${id}`))
  for (const count of ['1000', '-1', 'many', '0.5']) {
    const refused = await setWarm(id, count)
    assert.equal(refused.stdout, '')
    assert.match(refused.stderr, /count/)
  }
})

function setWarm(id: string, count: string) {
  return runAdmin(server.databaseUrl, 'template', 'set-warm', id, count)
}
