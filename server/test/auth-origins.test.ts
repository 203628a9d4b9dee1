import type { Endpoint } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { authenticate } from '../src/http/authenticate.ts'
import { goodPassword, openBrowser, ownOrigin, setCookie } from './browser.ts'
import { callWith } from './call.ts'
import { openLink } from './help-calls.ts'
import { endpoints, startTestServer, type Answer, type Call } from './harness.ts'

/* R8: pages of other sites can do nothing with a browser's cookie. */

const baseUrl = 'https://good.example'
const server = await startTestServer({ after }, { env: { COMPUTER_BASE_URL: baseUrl } })
const person = await server.signUp()
const cookie = `${person.cookie()!}; ${await guestCookie()}`

/** Every URL of a write, with the aliases of machine routes. */
const writes = Object.values(endpoints)
  .flatMap((group): Endpoint[] => Object.values(group))
  .filter(({ method }) => method !== 'GET')
  .flatMap(({ method, path, requires }) => {
    const url = path.replace(/\{(\w+)\}/g, (_, name: string) => `${name}_of_nothing`)
    const urls = /^\/v1\/machines\/\w+\//.test(url) ? [url, url.slice('/v1'.length)] : [url]
    const isPublic = requires === 'public'
    return urls.map((at) => ({ method, url: at, isPublic, takesKeys: requires !== 'guest' }))
  })

const foreign: readonly string[] = [
  'null',
  '',
  'http://evil.example',
  'https://good.example.evil.example',
  'https://evil-good.example',
  'https://preview.good.example',
  'http://good.example',
  'https://good.example:8443',
  'https://good.example:443',
  'https://GOOD.example',
  'https://good.example.',
  'https://good.example/',
  'https://good.example@evil.example',
  'https://user@good.example',
  'http://localhost:7080',
  'https://localhost',
  'http://localhost.',
  'ws://localhost',
  'https://good.example, https://evil.example',
]

test('writes by cookie need an Origin of this service', async () => {
  assert.ok(writes.length > 40)
  for (const { method, url, isPublic } of writes) {
    for (const origin of [undefined, ...foreign]) {
      if (isPublic && origin === undefined) continue
      const headers = { cookie, ...(origin !== undefined && { origin }) }
      const answer = await server.anonymous(method, url, {}, headers)
      assert.ok(isOriginRefused(answer), `${method} ${url} from ${origin}: ${answer.bytes}`)
    }
  }
})

test('every write by cookie passes with such an Origin', async () => {
  for (const { method, url } of writes) {
    if (url === '/v1/auth/logout') continue
    for (const origin of [ownOrigin, baseUrl]) {
      const answer = await server.anonymous(method, url, { unknown: 1 }, { cookie, origin })
      assert.ok(!isOriginRefused(answer), `${method} ${url} from ${origin}`)
      assert.ok(answer.status < 500)
    }
  }
})

test('API keys need no Origin', async () => {
  for (const { method, url, isPublic, takesKeys } of writes) {
    if (isPublic || !takesKeys) continue
    for (const origin of [undefined, 'null', 'http://evil.example']) {
      const headers = { cookie, ...(origin !== undefined && { origin }) }
      const answer = await server.call(method, url, { unknown: 1 }, headers)
      assert.ok(!isOriginRefused(answer), `${method} ${url} from ${origin}`)
      assert.ok(answer.status < 500)
    }
  }
})

test('reads by cookie need no Origin, because pages of other sites cannot see the response', async () => {
  for (const origin of [undefined, ...foreign]) {
    const headers = { cookie, ...(origin !== undefined && { origin }) }
    const answer = await server.anonymous('GET', '/v1/auth/me', undefined, headers)
    assert.equal(answer.status, 200)
    for (const name of Object.keys(answer.headers)) assert.doesNotMatch(name, /^access-control-/)
    const preflight = await server.anonymous('OPTIONS', '/v1/machines', undefined, {
      ...headers,
      'access-control-request-method': 'POST',
    })
    assert.equal(preflight.status, 404)
    for (const name of Object.keys(preflight.headers)) assert.doesNotMatch(name, /^access-control-/)
  }
})

test('pages of other sites cannot sign a browser in or up; programs without Origin can', async () => {
  const login = { email: person.email, password: person.password }
  const signup = { email: 'another@example.com', password: goodPassword }
  for (const [path, body] of [
    ['login', login],
    ['signup', signup],
  ] as const) {
    for (const origin of foreign) {
      const answer = await server.anonymous('POST', `/v1/auth/${path}`, body, { origin })
      assert.ok(isOriginRefused(answer), `${path} from ${origin}`)
      assert.equal(setCookie(answer), null)
    }
    assert.ok(setCookie(await server.anonymous('POST', `/v1/auth/${path}`, body)))
  }
})

test('a WebSocket handshake by cookie counts as a write', async () => {
  const shake = (headers: Record<string, string>) =>
    authenticate(server.app, {
      method: 'GET',
      headers: { cookie, ...headers },
      ip: '127.0.0.1',
      protocol: 'http',
      host: 'localhost',
    })
  for (const upgrade of ['websocket', 'WebSocket']) {
    for (const origin of [undefined, ...foreign]) {
      const headers = { upgrade, ...(origin !== undefined && { origin }) }
      await assert.rejects(shake(headers), { code: 'permission_denied' })
    }
    assert.equal((await shake({ upgrade, origin: ownOrigin })).userId, person.id)
    const authorization = `Bearer ${server.key}`
    const byKey = await shake({ upgrade, origin: 'http://evil.example', authorization })
    assert.equal(byKey.principal.type, 'api_key')
  }
})

test('a name that leads here only now (DNS rebinding) cannot sign up or use a browser session', async () => {
  const email = 'rebound@example.com'
  const signUp = (host: string, origin = `http://${host}`) =>
    server.anonymous('POST', '/v1/auth/signup', { email, password: goodPassword }, { host, origin })
  for (const host of ['evil.com:7080', 'evil.com', 'a.localhost:7080', '127.0.0.1.evil.com']) {
    const answer = await signUp(host)
    assert.ok(isOriginRefused(answer), host)
    assert.equal(setCookie(answer), null)
    const origin = `http://${host}`
    const write = await server.anonymous('POST', '/v1/machines', {}, { cookie, host, origin })
    assert.ok(isOriginRefused(write), host)
  }
  const users = server.app.db.selectFrom('users').select('id').where('email', '=', email)
  assert.deepEqual(await users.execute(), [])
  // API keys are no browser's, and a page has no cookie of another name.
  assert.equal(
    (await server.call('GET', '/v1/machines', undefined, { host: 'evil.com' })).status,
    200,
  )
  assert.equal((await signUp('127.0.0.1:7080')).status, 201)
})

test('with a list of origins, only those are recognised', async (t) => {
  const env = { COMPUTER_ORIGINS: 'https://a.example,http://b.example:3000' }
  const listed = await startTestServer(t, { env, worker: false })
  const sign = (origin: string) =>
    callWith(listed.http, { origin })('POST', '/v1/auth/login', {
      email: 'nobody@example.com',
      password: 'x',
    })
  assert.equal((await sign('https://a.example')).status, 401)
  assert.equal((await sign('http://b.example:3000')).status, 401)
  for (const origin of [ownOrigin, listed.app.config.baseUrl, 'http://b.example', 'null']) {
    assert.ok(isOriginRefused(await sign(origin)), origin)
  }
})

test('only a trusted proxy can set the address and the client of a call', async (t) => {
  const env = {
    COMPUTER_TRUST_PROXY: '10.0.0.0/8, fd00::/8',
    COMPUTER_BASE_URL: 'http://public.example:8080',
  }
  const proxied = await startTestServer(t, { env, worker: false })
  const forwarded = {
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'public.example',
    'x-forwarded-for': '198.51.100.9, 203.0.113.7',
  }
  const sign = (via: string, origin: string, headers: Record<string, string> = forwarded) =>
    callWith(proxied.http, { origin, ...headers }, via)('POST', '/v1/auth/login', {
      email: 'nobody@example.com',
      password: 'x',
    })
  for (const via of ['10.1.2.3', 'fd00::1']) {
    assert.equal((await sign(via, 'https://public.example')).status, 401)
    assert.ok(isOriginRefused(await sign(via, 'http://public.example')))
  }
  assert.ok(isOriginRefused(await sign('192.0.2.1', 'https://public.example')))
  assert.equal((await sign('192.0.2.1', ownOrigin)).status, 401)
  const odd = { ...forwarded, 'x-forwarded-proto': 'data' }
  assert.ok(isOriginRefused(await sign('10.1.2.3', 'null', odd)))

  const seenFrom = async (via: string) => {
    const { call } = openBrowser(proxied.http, via)
    const email = `via.${via.replaceAll(':', '-')}@example.com`
    await call(
      'POST',
      '/v1/auth/signup',
      { email, password: goodPassword },
      {
        'x-forwarded-for': forwarded['x-forwarded-for'],
      },
    )
    return addressOf(call)
  }
  // Everything before the last entry was written by the client.
  assert.equal(await seenFrom('10.1.2.3'), '203.0.113.7')
  assert.equal(await seenFrom('192.0.2.1'), '192.0.2.1')
})

async function addressOf(call: Call): Promise<string> {
  const { body } = await call('GET', '/v1/auth/sessions')
  return body.data[0].address
}

function isOriginRefused({ status, body }: Answer): boolean {
  return (
    status === 403 && body.error.code === 'permission_denied' && /Origin/.test(body.error.message)
  )
}

/** Of a browser that has spent a takeover link, beside the sign-in of its user. */
async function guestCookie(): Promise<string> {
  const { id } = await server.machine()
  const wanted = { reason: 'other', message: 'Please help.' }
  const { body } = await server.call('POST', `/v1/machines/${id}/help-requests`, wanted)
  return (await openLink(server, body.takeover_url)).headers.cookie!
}
