import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { ownOrigin } from './browser.ts'
import { startTestGateway, type HandshakeRefused } from './gateway.ts'
import { startTestPreviews } from './preview-server.ts'

/* What a page that a machine serves may do with the sign-in of the browser that shows it: nothing. */

const { publish, server } = await startTestPreviews({ after })

test("R8: a page of a preview may change nothing, with a browser's cookie or without", async () => {
  const person = await server.signUp()
  const { url } = await publish({ port: 1006, access: 'public' })
  for (const origin of [url, url.replace('https', 'http'), 'https://preview.test']) {
    const answer = await server.anonymous(
      'POST',
      '/v1/machines',
      {},
      { cookie: person.cookie()!, origin },
    )
    assert.deepEqual([answer.status, answer.body.error.code], [403, 'permission_denied'], origin)
  }
  const fine = await server.anonymous(
    'POST',
    '/v1/machines',
    { start: false },
    { cookie: person.cookie()!, origin: ownOrigin },
  )
  assert.equal(fine.status, 201)
})

test('R8: a page of a preview cannot connect to the gateway', async (t) => {
  const person = await server.signUp()
  const gateway = await startTestGateway(t, server.app)
  const { url } = await publish({ port: 1008, access: 'public' })
  for (const origin of [url, url.replace('https', 'http'), 'https://preview.test']) {
    const headers = { cookie: person.cookie()!, origin }
    const refused = await gateway.connect('/v1/events', { headers }).then(
      () => null,
      (error: HandshakeRefused) => error.status,
    )
    assert.equal(refused, 403, origin)
  }
})
