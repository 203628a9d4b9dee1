import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { goodPassword, openBrowser, type Person } from './browser.ts'
import { collide } from './forced-race.ts'
import { startTestServer, type Answer } from './harness.ts'
import { eventually } from './settled.ts'

const env = {
  COMPUTER_SMTP_URL: 'smtp://127.0.0.1:1',
  COMPUTER_DASHBOARD_URL: 'https://dashboard.example/',
}
const server = await startTestServer({ after }, { env, worker: false })
const { db } = server.app
const newPassword = 'another good password'

test('a mailed link sets a new password, once, and ends all sessions', async () => {
  const person = await server.signUp()
  const asked = await request(person.email.toUpperCase())
  assert.deepEqual([asked.status, asked.body], [202, {}])
  const token = await readToken(person)
  const unused = await mailAgain(person)
  assert.notEqual(unused, token)
  // A refused password does not use up the link.
  const short = await confirm(token, 'short')
  assert.deepEqual([short.status, short.body.error.details[0].field], [400, 'password'])

  assert.equal((await confirm(token)).status, 204)
  assert.equal((await person.call('GET', '/v1/auth/me')).status, 401)
  assert.equal(await loginStatus(person, goodPassword), 401)
  assert.equal(await loginStatus(person, newPassword), 200)
  for (const used of [token, unused]) refusedLink(await confirm(used))
})

test('the mail names the account and contains the link', async () => {
  const person = await server.signUp()
  await request(person.email)
  const [mail] = await mailsTo(person, 1)
  assert.equal(mail!.subject, 'Reset your password')
  assert.match(
    mail!.body,
    /^https:\/\/dashboard\.example\/reset-password#token=computer_reset_[\w-]{43}$/m,
  )
  assert.ok(mail!.body.includes(person.email))
  const stored = await db
    .selectFrom('password_resets')
    .select(sql<string>`encode(token_hash, 'escape')`.as('text'))
    .execute()
  for (const { text } of stored) assert.ok(!mail!.body.includes(text))
})

test('a link expires after an hour, by the clock of the database', async () => {
  const person = await server.signUp()
  await request(person.email)
  const token = await readToken(person)
  const { seconds } = await db
    .selectFrom('password_resets')
    .select(sql<number>`extract(epoch from expires_at - created_at)::int`.as('seconds'))
    .where('user_id', '=', person.id)
    .executeTakeFirstOrThrow()
  assert.equal(seconds, 3600)
  await db
    .updateTable('password_resets')
    .set({ expires_at: sql`now()` })
    .where('user_id', '=', person.id)
    .execute()
  refusedLink(await confirm(token))
  assert.equal(await loginStatus(person, goodPassword), 200)
})

test('of two concurrent calls with one link, one sets the password', async () => {
  const person = await server.signUp()
  await request(person.email)
  const token = await readToken(person)
  const passwords = ['first good password', 'second good password']
  const answers = await collide(
    db,
    holdUser(person),
    passwords.map((password) => () => confirm(token, password)),
  )
  const winner = answers.findIndex(({ status }) => status === 204)
  refusedLink(answers[1 - winner]!)
  assert.equal(await loginStatus(person, passwords[winner]!), 200)
  assert.equal(await loginStatus(person, passwords[1 - winner]!), 401)
})

test('a reset clears the limit of failed logins', async () => {
  const person = await server.signUp()
  for (let failed = 0; failed < 10; failed += 1) await loginStatus(person, 'a wrong password')
  assert.equal(await loginStatus(person, goodPassword), 429)
  await request(person.email)
  await confirm(await readToken(person))
  assert.equal(await loginStatus(person, newPassword), 200)
})

test('an unknown email, a disabled account and an exceeded limit get the same response and no mail', async () => {
  const person = await server.signUp()
  const disabled = await server.signUp()
  await request(disabled.email)
  const token = await readToken(disabled)
  await db
    .updateTable('users')
    .set({ disabled_at: sql`now()` })
    .where('id', '=', disabled.id)
    .execute()
  const first = await request(person.email)
  const emails = ['nobody@example.com', disabled.email, ...Array<string>(19).fill(person.email)]
  for (const answer of await Promise.all(emails.map(request))) {
    assert.deepEqual([answer.status, answer.body], [first.status, first.body])
    assert.deepEqual(Object.keys(answer.headers), Object.keys(first.headers))
  }
  await counted(emails.filter((email) => email === person.email).length + 1)
  assert.equal((await mailsTo(person, 3)).length, 3)
  assert.equal((await mailsTo(disabled, 1)).length, 1)
  const others = await db
    .selectFrom('mails')
    .select('id')
    .where('recipient', '=', 'nobody@example.com')
    .execute()
  assert.equal(others.length, 0)
  refusedLink(await confirm(token))
})

test('without a mail server every email gets the same error', async (t) => {
  const silent = await startTestServer(t, { worker: false })
  const { email } = await silent.signUp()
  for (const one of [email, 'nobody@example.com']) {
    const answer = await silent.anonymous('POST', '/v1/auth/password-reset', { email: one })
    assert.deepEqual([answer.status, answer.body.error.code], [501, 'unsupported_operation'])
  }
})

test('a malformed token is refused without hashing a password', async () => {
  const person = await server.signUp()
  await request(person.email)
  const token = await readToken(person)
  const session = person.cookie()!.slice('computer_session='.length)
  for (const bad of [
    'x',
    `${token}x`,
    token.slice(0, -1),
    token.replace('reset', 'session'),
    session,
    `computer_reset_${'A'.repeat(43)}`,
    server.key,
  ]) {
    refusedLink(await confirm(bad))
  }
  assert.equal((await confirm(token)).status, 204)
})

test('every step is in the audit log of the organization', async () => {
  const person = await server.signUp()
  assert.equal(await loginStatus(person, 'a wrong password'), 401)
  await request(person.email)
  await confirm(await readToken(person))
  const browser = openBrowser(server.http)
  const login = { email: person.email, password: newPassword }
  await browser.call('POST', '/v1/auth/login', login)
  await browser.call('POST', '/v1/auth/logout')
  await browser.call('POST', '/v1/auth/login', login)
  const expected = [
    'auth.password_reset succeeded user',
    'auth.password_reset_requested succeeded null',
    'auth.sign_in_failed failed null',
    'auth.signed_in succeeded user',
    'auth.signed_in succeeded user',
    'auth.signed_out succeeded user',
    'auth.signed_up succeeded user',
  ]
  const noted = await eventually(async () => {
    const { body } = await browser.call('GET', '/v1/audit-events?limit=100')
    const auth = body.data.filter(({ type }: { type: string }) => type.startsWith('auth.'))
    return auth.length === expected.length ? auth : undefined
  })
  const lines = noted.map(
    // oxlint-disable-next-line typescript/no-explicit-any
    ({ type, outcome, actor }: any) => `${type} ${outcome} ${actor?.type ?? null}`,
  )
  assert.deepEqual(lines.toSorted(), expected)
  const text = JSON.stringify(noted)
  assert.match(text, /"address":"10\./)
  for (const secret of [goodPassword, newPassword, 'a wrong password', 'computer_']) {
    assert.ok(!text.includes(secret), secret)
  }
})

function request(email: string): Promise<Answer> {
  return server.anonymous('POST', '/v1/auth/password-reset', { email })
}

function confirm(token: string, password = newPassword): Promise<Answer> {
  return server.anonymous('POST', '/v1/auth/password-reset/confirm', { token, password })
}

async function loginStatus({ email }: Person, password: string): Promise<number> {
  const answer = await server.anonymous('POST', '/v1/auth/login', { email, password })
  return answer.status
}

/** Waits until there are that many mails to the recipient: they are written after the response. */
async function mailsTo({ email }: Person, count: number) {
  return eventually(async () => {
    const mails = await db
      .selectFrom('mails')
      .select(['subject', 'body'])
      .where('recipient', '=', email)
      .orderBy('id', 'desc')
      .execute()
    return mails.length >= count ? mails : undefined
  })
}

async function readToken(person: Person, count = 1): Promise<string> {
  const [mail] = await mailsTo(person, count)
  return /#token=(\S+)/.exec(mail!.body)![1]!
}

async function mailAgain(person: Person): Promise<string> {
  await request(person.email)
  return readToken(person, 2)
}

/** Waits until that many attempts were counted. */
async function counted(attempts: number): Promise<void> {
  await eventually(async () => {
    const rows = await db.selectFrom('attempts').select('count').execute()
    return rows.some(({ count }) => count === attempts) || undefined
  })
}

const holdUser = (person: Person) => (tx: typeof db) =>
  tx.selectFrom('users').select('id').where('id', '=', person.id).forUpdate().execute()

function refusedLink({ status, body }: Answer): void {
  assert.deepEqual([status, body.error.code], [400, 'invalid_request'])
  assert.equal(body.error.details[0].field, 'token')
}
