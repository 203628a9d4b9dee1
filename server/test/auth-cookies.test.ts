import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { goodPassword, openBrowser } from './browser.ts'
import { startTestGateway } from './gateway.ts'
import { startTestServer } from './harness.ts'

/* A page of the same site, such as a preview, can set cookies that browsers send to the service. */

const baseUrl = 'https://app.example.com'
const env = { COMPUTER_BASE_URL: baseUrl, COMPUTER_PREVIEW_DOMAIN: 'preview.example.com' }
const server = await startTestServer({ after }, { env })
const attacker = await server.signUp()
const victim = await server.signUp()
const planted = attacker.cookie()!.split('; ')[0]!
const browser = { 'sec-fetch-site': 'same-origin', origin: baseUrl }

test('a session that a preview has planted is not used, whether or not the browser is signed in', async () => {
  assert.match(planted, /^computer_session=computer_session_/)
  const me = (cookie: string) =>
    server.anonymous('GET', '/v1/auth/me', undefined, { ...browser, cookie })
  const { status, body } = await me(planted)
  assert.deepEqual([status, body.error.code], [401, 'unauthenticated'])
  const secret = { name: 'typed into the session of the attacker' }
  const write = await server.anonymous('POST', '/v1/machines', secret, {
    ...browser,
    cookie: planted,
  })
  assert.equal(write.status, 401)
  for (const cookie of [`${planted}; ${victim.cookie()}`, `${victim.cookie()}; ${planted}`]) {
    assert.equal((await me(cookie)).body.user.email, victim.email)
  }
})

test('signing in and out sets and ends both cookies', async () => {
  const { call, cookie } = openBrowser(server.http)
  const login = { email: victim.email, password: goodPassword }
  assert.equal((await call('POST', '/v1/auth/login', login)).status, 200)
  const names = cookie()!
    .split('; ')
    .map((pair) => pair.split('=')[0])
  assert.deepEqual(names, ['computer_session', '__Host-computer_session'])
  const key = { 'idempotency-key': 'once' }
  const create = () => call('POST', '/v1/organizations', { name: 'Once' }, { ...browser, ...key })
  const [first, again] = [await create(), await create()]
  assert.deepEqual([first.status, again.body], [201, first.body])
  assert.equal((await call('POST', '/v1/auth/logout', undefined, browser)).status, 204)
  assert.equal(cookie(), null)
})

test('the gateway uses the same cookie', async (t) => {
  const gateway = await startTestGateway(t, server.app)
  const connect = (cookie: string) =>
    gateway.connect('/v1/events', { headers: { ...browser, cookie } })
  await assert.rejects(connect(planted), { status: 401 })
  await (await connect(`${planted}; ${victim.cookie()}`)).close()
})

test('a program may send the specified cookie alone', async () => {
  const answer = await server.anonymous('GET', '/v1/auth/me', undefined, { cookie: planted })
  assert.equal(answer.body.user.email, attacker.email)
})
