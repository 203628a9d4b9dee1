import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, test } from 'node:test'
import { startTestServer } from './harness.ts'

const server = await startTestServer({ after })

test('every response forbids loading, framing and content sniffing', async () => {
  for (const path of [
    '/v1/auth/me',
    '/v1/machines',
    '/v1/nothing',
    '/docs',
    '/healthz',
    '/v1/openapi.json',
  ]) {
    const { headers } = await server.call('GET', path)
    assert.match(String(headers['content-security-policy']), /^default-src 'none'; /)
    assert.match(String(headers['content-security-policy']), /frame-ancestors 'none'/)
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers['x-frame-options'], 'DENY')
    assert.equal(headers['referrer-policy'], 'no-referrer')
    assert.equal(headers['cross-origin-resource-policy'], 'same-origin')
    assert.equal(headers['strict-transport-security'], undefined)
    assert.equal(headers['server'] ?? headers['x-powered-by'], undefined)
    for (const name of Object.keys(headers)) assert.doesNotMatch(name, /^access-control-/)
  }
})

test('HSTS is sent where https is served', async (t) => {
  const env = { COMPUTER_BASE_URL: 'https://computer.example.com' }
  const secure = await startTestServer(t, { env, worker: false })
  const { headers } = await secure.call('GET', '/v1/auth/me')
  assert.equal(headers['strict-transport-security'], 'max-age=31536000')
  const person = await secure.signUp()
  const { headers: answer } = await person.call('POST', '/v1/auth/login', {
    email: person.email,
    password: person.password,
  })
  assert.match(String(answer['set-cookie']), /; Secure$/)
})

test('the API reference allows its own style and no other', async () => {
  const { headers, bytes } = await server.anonymous('GET', '/docs')
  const styles = [...bytes.toString().matchAll(/<style>(.*?)<\/style>/gs)].map(([, text]) => text!)
  const hash = createHash('sha256').update(styles[0]!).digest('base64')
  assert.equal(styles.length, 1)
  const policy = String(headers['content-security-policy'])
  assert.ok(policy.includes(`style-src 'sha256-${hash}'`))
  assert.doesNotMatch(policy, /unsafe|https?:|\*/)
  // It contains nothing that the policy would block.
  assert.doesNotMatch(bytes.toString(), /<[^>]+ (style|on\w+)=|<script|<img|<link|<form/)
})

test('responses of the API must not be cached', async () => {
  const person = await server.signUp()
  for (const answer of [
    await person.call('POST', '/v1/auth/login', { email: person.email, password: person.password }),
    await person.call('GET', '/v1/auth/me'),
    await person.call('GET', '/v1/auth/sessions'),
    await person.call('POST', '/v1/api-keys', { name: 'A key', scopes: ['machines:read'] }),
    await server.anonymous('POST', '/v1/auth/login', {
      email: 'nobody@example.com',
      password: 'x',
    }),
    await server.anonymous('GET', '/v1/auth/me'),
  ]) {
    assert.equal(answer.headers['cache-control'], 'no-store')
  }
})
