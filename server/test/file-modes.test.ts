import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startTestServer } from './harness.ts'

const server = await startTestServer({ after })
const { id } = await server.machine()
const files = `/v1/machines/${id}/files`
const content = `${files}/content`

test('a mode that a list shows can be written, special bits included', async () => {
  for (const mode of ['4755', '2750', '1777', '0600', '640']) {
    const path = `mode-${mode}`
    for (const append of [false, true]) {
      const write = { path, content: 'x', mode, append }
      assert.equal((await server.call('PUT', content, write)).status, 200)
      const listed = await server.call('GET', `${files}?limit=100`)
      const entry = listed.body.data.find(({ name }: { name: string }) => name === path)
      assert.equal(entry.mode, mode.padStart(4, '0'))
    }
  }
  const query = `${content}?path=mode-bytes&mode=4711`
  assert.equal((await server.call('PUT', query, Buffer.from('x'))).status, 200)
})

test('a name that is too long is refused by the path that was sent', async () => {
  const path = 'n'.repeat(256)
  const refused = await server.call('PUT', content, { path, content: 'x' })
  assert.deepEqual([refused.status, refused.body.error.code], [400, 'invalid_request'])
  assert.match(refused.body.error.message, new RegExp(`${path}: a name in it is longer than 255`))
  assert.doesNotMatch(refused.body.error.message, /proc/)
})
