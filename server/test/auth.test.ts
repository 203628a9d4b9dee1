import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { goodPassword, openBrowser, setCookie } from './browser.ts'
import { startTestServer } from './harness.ts'

const server = await startTestServer({ after })
const { db } = server.app

test('signing up creates an account with a personal organization, and signs in', async () => {
  const browser = openBrowser(server.http)
  const answer = await browser.call('POST', '/v1/auth/signup', {
    email: 'Ada@Example.com',
    password: goodPassword,
    name: 'Ada',
  })
  assert.equal(answer.status, 201)
  const { user, organization, organizations, role, api_key, permissions } = answer.body
  assert.match(user.id, /^usr_/)
  assert.deepEqual(
    [user.email, user.name, api_key, role],
    ['ada@example.com', 'Ada', null, 'owner'],
  )
  assert.match(organization.name, /^Ada/)
  assert.equal(organization.plan_id, 'free')
  assert.deepEqual(
    organizations.map(({ id }: { id: string }) => id),
    [organization.id],
  )
  assert.ok(permissions.includes('billing:manage'))
  assert.match(
    setCookie(answer)!,
    /^computer_session=computer_session_[\w-]{43}; Path=\/; Max-Age=34560000; HttpOnly; SameSite=Lax$/,
  )
  const me = await browser.call('GET', '/v1/auth/me')
  assert.deepEqual([me.status, me.body], [200, answer.body])
})

test('without a name, the part of the email before the @ is used', async () => {
  const { call } = await server.signUp({ email: 'grace.hopper+1@example.com' })
  const { body } = await call('GET', '/v1/auth/me')
  assert.equal(body.user.name, 'grace.hopper+1')
})

test('signing in returns the same principal and ignores the case of the email', async () => {
  const person = await server.signUp()
  const browser = openBrowser(server.http)
  const { email, password } = person
  const login = { email: email.toUpperCase(), password }
  const answer = await browser.call('POST', '/v1/auth/login', login)
  const me = await person.call('GET', '/v1/auth/me')
  assert.deepEqual([answer.status, answer.body], [200, me.body])
  assert.deepEqual((await browser.call('GET', '/v1/auth/me')).body, me.body)
  assert.notEqual(browser.cookie(), person.cookie())
})

test('a repeated sign-up signs in; with another password it conflicts', async () => {
  const { email, password, id } = await server.signUp()
  const again = openBrowser(server.http)
  const answer = await again.call('POST', '/v1/auth/signup', { email, password })
  assert.deepEqual([answer.status, answer.body.user.id], [201, id])
  assert.equal((await again.call('GET', '/v1/auth/me')).status, 200)

  const guess = { email, password: 'another password' }
  const refused = await again.call('POST', '/v1/auth/signup', guess)
  assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict'])
  assert.equal(setCookie(refused), null)
})

test('of concurrent sign-ups with one email, one creates the account and all with its password sign in', async () => {
  const email = 'at.once@example.com'
  const sign = (password: string) =>
    openBrowser(server.http).call('POST', '/v1/auth/signup', { email, password })
  const answers = await Promise.all(
    [1, 1, 1, 2, 2].map((which) => sign(`password number ${which}`)),
  )
  const entered = answers.filter(({ status }) => status === 201)
  assert.equal(new Set(entered.map(({ body }) => body.user.id)).size, 1)
  assert.ok(entered.length === 3 || entered.length === 2)
  for (const { status } of answers) assert.ok(status === 201 || status === 409)
  const users = await db.selectFrom('users').select('id').where('email', '=', email).execute()
  assert.equal(users.length, 1)
  const owned = await db
    .selectFrom('memberships')
    .select('id')
    .where('user_id', '=', users[0]!.id)
    .execute()
  assert.equal(owned.length, 1)
})

test('invalid passwords, emails and names are refused with the name of the field', async () => {
  const good = { email: 'x@example.com', password: goodPassword }
  for (const [field, value] of [
    ['password', 'too short'],
    ['password', 'x'.repeat(257)],
    ['password', `${goodPassword}\0`],
    ['email', 'nobody'],
    ['email', 'a@b'],
    ['email', `${'x'.repeat(250)}@example.com`],
    ['email', 'x@example.com\r\nbcc: y@example.com'],
    ['name', ''],
  ] as const) {
    const answer = await server.anonymous('POST', '/v1/auth/signup', { ...good, [field]: value })
    assert.deepEqual([answer.status, answer.body.error.details[0].field], [400, field], value)
  }
})

test('a wrong password, an unknown email, a disabled account and one without a password get the same response', async () => {
  const known = await server.signUp()
  const disabled = await server.signUp()
  await disable(disabled.id)
  const answers = await Promise.all(
    [
      { email: known.email, password: 'another password' },
      { email: 'nobody@example.com', password: goodPassword },
      { email: disabled.email, password: goodPassword },
      { email: (await memberWithoutPassword()).email, password: goodPassword },
    ].map((body) => server.anonymous('POST', '/v1/auth/login', body)),
  )
  const [first] = answers
  for (const { status, body, headers } of answers) {
    assert.equal(status, 401)
    assert.deepEqual({ ...body.error, request_id: '' }, { ...first!.body.error, request_id: '' })
    assert.deepEqual(Object.keys(headers), Object.keys(first!.headers))
  }
})

test('signing out ends the session and deletes the cookie', async () => {
  const person = await server.signUp()
  const cookie = person.cookie()!
  const answer = await person.call('POST', '/v1/auth/logout')
  assert.equal(answer.status, 204)
  assert.match(setCookie(answer)!, /^computer_session=; .*Max-Age=0/)
  assert.equal(person.cookie(), null)
  const stolen = await server.anonymous('GET', '/v1/auth/me', undefined, { cookie })
  assert.deepEqual([stolen.status, stolen.body.error.code], [401, 'unauthenticated'])
})

test('an API key takes precedence over a cookie, even an invalid key, and needs no Origin', async () => {
  const person = await server.signUp()
  const cookie = person.cookie()!
  const both = { cookie, authorization: `Bearer ${server.key}` }
  const me = await server.anonymous('GET', '/v1/auth/me', undefined, both)
  assert.deepEqual([me.body.user, me.body.api_key.name], [null, 'Owner key'])
  const body = { name: 'by-key', start: false }
  assert.equal((await server.anonymous('POST', '/v1/machines', body, both)).status, 201)
  const wrong = { cookie, authorization: 'Bearer nonsense' }
  assert.equal((await server.anonymous('GET', '/v1/auth/me', undefined, wrong)).status, 401)
  const basic = { cookie, authorization: 'Basic eDp5' }
  assert.equal((await server.anonymous('GET', '/v1/auth/me', undefined, basic)).status, 200)
})

test('a session token is no API key, and other credentials are no session token', async () => {
  const person = await server.signUp()
  const token = person.cookie()!.slice('computer_session='.length)
  for (const headers of [
    { authorization: `Bearer ${token}` },
    { cookie: `computer_session=${server.key}` },
    { cookie: `computer_session=${token}x` },
    { cookie: `computer_session=${token.slice(0, -1)}` },
    { cookie: `computer_session=${token}; computer_session=${token.slice(0, -1)}x` },
    { cookie: `other=${token}` },
  ]) {
    const answer = await server.anonymous('GET', '/v1/auth/me', undefined, headers)
    assert.deepEqual([answer.status, answer.body.error.code], [401, 'unauthenticated'])
  }
})

test('endpoints that require a user refuse API keys', async () => {
  for (const [method, path, body] of [
    ['GET', '/v1/auth/sessions', undefined],
    ['POST', '/v1/auth/logout', undefined],
    ['POST', '/v1/auth/password', { current_password: 'x', new_password: goodPassword }],
  ] as const) {
    const answer = await server.call(method, path, body)
    assert.deepEqual([answer.status, answer.body.error.code], [403, 'permission_denied'], path)
    assert.match(answer.body.error.message, /signed in/)
  }
})

test('the database contains neither passwords nor tokens', async () => {
  const person = await server.signUp()
  const token = person.cookie()!.slice('computer_session='.length)
  const rows = await Promise.all([
    db.selectFrom('users').selectAll().execute(),
    db.selectFrom('auth_sessions').selectAll().execute(),
    db.selectFrom('attempts').selectAll().execute(),
    db.selectFrom('audit_events').selectAll().execute(),
  ])
  const text = JSON.stringify(rows, (_, value) =>
    value?.type === 'Buffer' ? Buffer.from(value.data).toString('latin1') : value,
  )
  assert.ok(text.includes(person.email))
  assert.ok(!text.includes(token) && !text.includes(token.slice(20)))
  assert.ok(!text.includes(goodPassword))
})

test('a password hashed with other parameters is rehashed at the next sign-in', async () => {
  const person = await server.signUp()
  // The good password with fewer passes over less memory.
  const older =
    '$argon2id$v=19$m=8192,t=1,p=1$c29tZSBzYWx0IG9mIG91cnM$3YtOFuxQyCIq6hxWn5bnDZc1hLz9m0XSBxDGmJaG8bk'
  await db.updateTable('users').set({ password_hash: older }).where('id', '=', person.id).execute()
  await person.signInAgain()
  const { password_hash } = await db
    .selectFrom('users')
    .select('password_hash')
    .where('id', '=', person.id)
    .executeTakeFirstOrThrow()
  assert.match(password_hash!, /m=19456,t=2,p=1/)
  await person.signInAgain()
})

async function disable(id: string): Promise<void> {
  await db
    .updateTable('users')
    .set({ disabled_at: new Date() })
    .where('id', '=', id as never)
    .execute()
}

async function memberWithoutPassword(): Promise<{ readonly email: string }> {
  const { userId } = await server.user('member')
  return db.selectFrom('users').select('email').where('id', '=', userId).executeTakeFirstOrThrow()
}
