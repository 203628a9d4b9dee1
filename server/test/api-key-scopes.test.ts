import { ApiKeyScope, endpoints, openApiDocument } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startTestServer } from './harness.ts'

/* Scopes limit what a key changes, not what it reads (docs/decisions/0015-keys-read-everything.md). */

const server = await startTestServer({ after })

test('a key of any one scope reads the content of machines, and writes only what it grants', async () => {
  const { id } = await server.machine()
  const file = `/v1/machines/${id}/files/content`
  await server.call('PUT', file, { path: 'notes', content: 'private' })
  for (const scope of ApiKeyScope.options) {
    const { call } = await server.apiKey({ scopes: [scope] })
    assert.equal((await call('GET', `${file}?path=notes`)).body.content, 'private', scope)
    assert.equal((await call('GET', `/v1/machines/${id}/processes`)).status, 200, scope)
    const written = await call('PUT', file, { path: 'notes', content: 'private' })
    assert.equal(written.status, scope === 'machines:control' ? 200 : 403, scope)
  }
})

test('no key reads what belongs to another organization', async () => {
  const { id } = await server.machine()
  const { call } = await server.apiKey({ creator: await server.user('owner', 'stranger') })
  assert.equal((await call('GET', `/v1/machines/${id}/files/content?path=notes`)).status, 404)
})

test('the description of scopes says that any key reads everything', () => {
  const { components } = openApiDocument(endpoints, { version: '1', url: 'https://example.test' })
  const description = String(components.schemas['ApiKeyScope']!['description'])
  assert.match(description, /Any key can read everything in its organization.*content of machines/)
})
