import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { countAttempt, unknownNetworksLimit } from '../src/domain/accounts/rate-limits.ts'
import { sweepAccounts } from '../src/domain/accounts/sweep.ts'
import { watchArgon2 } from './argon2.ts'
import { goodPassword, openBrowser } from './browser.ts'
import { callWith, type Answer, type Call } from './call.ts'
import { startTestServer } from './harness.ts'
import { eventually } from './settled.ts'

/* R16: limits of password guesses and sign-ups, and that refused guesses reveal nothing. */

const server = await startTestServer({ after }, { worker: false })
const { db } = server.app

test('after ten failed logins in 15 minutes, even the right password is not verified', async (t) => {
  const { email } = await server.signUp()
  for (let guess = 1; guess <= 10; guess += 1) {
    const answer = await login(server.anonymous, email, `guess number ${guess}`)
    assert.equal(answer.status, 401, `guess ${guess}`)
  }
  const { work } = watchArgon2(t)
  for (const spelling of [email, email.toUpperCase()]) {
    limited(await login(server.anonymous, spelling, goodPassword), 15 * 60)
  }
  assert.equal(work().length, 0)
  // Other users are not affected.
  const other = await server.signUp()
  assert.equal((await login(server.anonymous, other.email, goodPassword)).status, 200)
})

test('of fifty concurrent guesses, ten are verified', async (t) => {
  const { email } = await server.signUp()
  const { work } = watchArgon2(t)
  const guesses = Array.from({ length: 50 }, (_, i) => `guess number ${i}`)
  const answers = await Promise.all(guesses.map((one) => login(server.anonymous, email, one)))
  assert.equal(answers.filter(({ status }) => status === 401).length, 10)
  assert.equal(answers.filter(({ status }) => status === 429).length, 40)
  assert.equal(work().length, 10)
})

test('an email without an account has the same limit as one with an account', async () => {
  const answers = []
  for (let guess = 1; guess <= 11; guess += 1) {
    answers.push(await login(server.anonymous, 'nobody@example.com', goodPassword))
  }
  assert.deepEqual(
    answers.map(({ status }) => status),
    [...Array.from({ length: 10 }, () => 401), 429],
  )
})

test('wrong sign-ins of a stranger keep the owner out of no other network', async () => {
  const { email, password } = await server.signUp()
  const guesser = (address: string) => callWith(server.http, {}, address)
  for (let guess = 0; guess < 10; guess += 1) {
    await login(guesser(`203.0.113.${guess}`), email, 'a wrong password')
  }
  // A neighbour in the /24 counts as the same.
  limited(await login(guesser('203.0.113.99'), email, password), 15 * 60)
  assert.equal((await login(guesser('198.51.100.1'), email, password)).status, 200)
  limited(await login(guesser('203.0.113.99'), email, password), 15 * 60)
})

test('a guesser in many networks is limited, but not where the owner has signed in before', async () => {
  const { email } = await server.signUp()
  const from = (address: string) => callWith(server.http, {}, address)
  const home = '2001:db8:1:1::1'
  assert.equal((await login(from(home), email, goodPassword)).status, 200)
  for (const target of [email, 'nobody.anywhere@example.com']) {
    // Counted without the work of 98 sign-ins.
    for (let guess = 0; guess < 98; guess += 1) await countAttempt(db, unknownNetworksLimit, target)
    for (const address of ['100.64.1.1', '100.64.2.1']) {
      assert.equal((await login(from(address), target, 'a wrong password')).status, 401)
    }
    const elsewhere = await login(from('100.64.200.1'), target, goodPassword)
    limited(elsewhere, 3600)
    assert.match(elsewhere.body.error.message, /sign in from where you have before/)
  }
  // The owner at home: another address of the network, and after signing out.
  await db
    .updateTable('auth_sessions')
    .set({ revoked_at: sql`now()` })
    .execute()
  assert.equal((await login(from('2001:db8:1:1::2'), email, goodPassword)).status, 200)
  limited(await login(from('100.64.200.1'), 'nobody.anywhere@example.com', goodPassword), 3600)
})

test("200 sign-ins of strangers in one network do not delay another's", async (t) => {
  const { email } = await server.signUp()
  const { work } = watchArgon2(t)
  const strangers = Array.from({ length: 200 }, (_, i) =>
    login(callWith(server.http, {}, `203.0.113.${i}`), `stranger.${i}@example.com`, goodPassword),
  )
  await eventually(async () => work().length >= 4 || undefined)
  const before = work().length
  assert.equal(
    (await login(callWith(server.http, {}, '192.0.2.1'), email, goodPassword)).status,
    200,
  )
  assert.ok(work().length - before < 50, `${work().length - before} passwords came first`)
  const answers = await Promise.all(strangers)
  const refused = answers.filter(({ status }) => status === 429)
  assert.ok(refused.length > 100)
  for (const { headers, body } of refused) {
    assert.deepEqual([headers['retry-after'], body.error.code], ['1', 'rate_limited'])
  }
})

test('the counter survives a restart', async () => {
  const { email } = await server.signUp()
  const guess = (call: Call) => login(call, email, 'a wrong password')
  for (let failed = 0; failed < 6; failed += 1) await guess(server.anonymous)
  const restarted = callWith(server.again(), {})
  for (let failed = 6; failed < 10; failed += 1) assert.equal((await guess(restarted)).status, 401)
  limited(await guess(restarted), 15 * 60)
  limited(await login(callWith(server.again(), {}), email, goodPassword), 15 * 60)
})

test('a successful login clears the counter, and so does the end of the window', async () => {
  const { email } = await server.signUp()
  const fail = async (times: number) => {
    for (let failed = 0; failed < times; failed += 1) {
      assert.equal((await login(server.anonymous, email, 'a wrong password')).status, 401)
    }
  }
  await fail(9)
  assert.equal((await login(server.anonymous, email, goodPassword)).status, 200)
  await fail(10)
  limited(await login(server.anonymous, email, goodPassword), 15 * 60)
  await endWindows()
  await fail(10)
  limited(await login(server.anonymous, email, goodPassword), 15 * 60)
  await endWindows()
  assert.equal((await login(server.anonymous, email, goodPassword)).status, 200)
})

test('guesses by sign-up count as well', async () => {
  const { email } = await server.signUp()
  const person = openBrowser(server.http, '198.51.100.1')
  const stranger = openBrowser(server.http, '198.51.100.2').call
  assert.equal((await login(person.call, email, goodPassword)).status, 200)
  for (let guess = 0; guess < 5; guess += 1) {
    assert.equal((await signup(stranger, email, 'a wrong password')).status, 409)
  }
  for (let guess = 0; guess < 5; guess += 1) {
    assert.equal((await login(stranger, email, 'a wrong password')).status, 401)
  }
  limited(await login(stranger, email, goodPassword), 15 * 60)
  limited(await signup(stranger, email, goodPassword), 15 * 60)
  // The existing session stays usable.
  assert.equal((await person.call('GET', '/v1/auth/me')).status, 200)
})

test('each address may sign up ten times an hour, regardless of input and server', async () => {
  const from = (address: string, http = server.http) => callWith(http, {}, address)
  const known = await server.signUp()
  const emails = ['taken', ...Array.from({ length: 9 }, (_, i) => `fresh.${i}`)]
  for (const [index, name] of emails.entries()) {
    const http = index < 5 ? server.http : server.again()
    const email = name === 'taken' ? known.email : `${name}@example.com`
    const { status } = await signup(from('192.0.2.10', http), email, 'a long password')
    assert.equal(status, name === 'taken' ? 409 : 201)
  }
  const eleventh = await signup(from('192.0.2.10'), 'eleventh@example.com')
  limited(eleventh, 3600)
  limited(await signup(from('::ffff:192.0.2.10'), 'eleventh@example.com'), 3600)
  assert.equal((await signup(from('192.0.2.11'), 'eleventh@example.com')).status, 201)
  await endWindows()
  assert.equal((await signup(from('192.0.2.10'), 'twelfth@example.com')).status, 201)
})

test('of many concurrent sign-ups from one IPv6 network, ten succeed', async () => {
  const addresses = Array.from({ length: 16 }, (_, i) => `2001:db8:7:7::${i.toString(16)}:${i}`)
  const answers = await Promise.all(
    addresses.map((address, i) =>
      signup(callWith(server.http, {}, address), `at.once.${i}@example.com`),
    ),
  )
  assert.equal(answers.filter(({ status }) => status === 201).length, 10)
  assert.equal(answers.filter(({ status }) => status === 429).length, 6)
  const neighbour = callWith(server.http, {}, '2001:db8:7:8::1')
  assert.equal((await signup(neighbour, 'neighbour@example.com')).status, 201)
})

test('a login does the same work whether or not the email has an account', async (t) => {
  const known = await server.signUp()
  const disabled = await server.signUp()
  await db
    .updateTable('users')
    .set({ disabled_at: sql`now()` })
    .where('id', '=', disabled.id)
    .execute()
  const without = await server.signUp()
  await db.updateTable('users').set({ password_hash: null }).where('id', '=', without.id).execute()

  const { work } = watchArgon2(t)
  const expected = {
    algorithm: 'argon2id',
    memory: 19_456,
    passes: 2,
    parallelism: 1,
    tagLength: 32,
    nonceLength: 16,
  }
  const tries: [email: string, password: string, status: number][] = [
    [known.email, 'a wrong password', 401],
    ['unknown@example.com', goodPassword, 401],
    [disabled.email, goodPassword, 401],
    [without.email, goodPassword, 401],
    [known.email, goodPassword, 200],
  ]
  for (const [email, password, status] of tries) {
    const before = work().length
    assert.equal((await login(server.anonymous, email, password)).status, status)
    assert.deepEqual(work().slice(before), [expected], email)
  }
  for (const email of [known.email, 'fresh@example.com']) {
    const before = work().length
    await signup(openBrowser(server.http).call, email, 'a long password')
    assert.deepEqual(work().slice(before), [expected], email)
  }
})

test('a refused sign-up does not hash a password', async (t) => {
  const env = { COMPUTER_SIGNUP: 'closed' }
  const closed = await startTestServer(t, { env, worker: false })
  const { work } = watchArgon2(t)
  const answer = await signup(closed.anonymous, 'uninvited@example.com')
  assert.deepEqual([answer.status, answer.body.error.code], [403, 'permission_denied'])
  assert.match(answer.body.error.message, /closed.*invitation/)
  assert.equal(work().length, 0)
})

test('expired windows are swept, and current ones still count', async () => {
  await db.deleteFrom('attempts').execute()
  const { email } = await server.signUp()
  for (let failed = 0; failed < 10; failed += 1) {
    await login(server.anonymous, email, 'a wrong password')
  }
  const count = async () => (await db.selectFrom('attempts').select('key').execute()).length
  assert.equal(await count(), 3)
  await sweepAccounts(db)
  assert.equal(await count(), 3)
  limited(await login(server.anonymous, email, goodPassword), 15 * 60)
  await endWindows()
  await sweepAccounts(db)
  assert.equal(await count(), 0)
})

function login(call: Call, email: string, password: string): Promise<Answer> {
  return call('POST', '/v1/auth/login', { email, password })
}

function signup(call: Call, email: string, password = goodPassword): Promise<Answer> {
  return call('POST', '/v1/auth/signup', { email, password })
}

function limited({ status, body, headers }: Answer, windowSeconds: number): void {
  assert.deepEqual([status, body.error.code], [429, 'rate_limited'])
  const seconds = Number(headers['retry-after'])
  assert.ok(Number.isInteger(seconds) && seconds >= 1 && seconds <= windowSeconds, `${seconds}`)
  assert.match(body.error.message, /try again in \d+ min/)
  assert.equal(headers['set-cookie'], undefined)
}

/** Makes every window expire. */
async function endWindows(): Promise<void> {
  await db
    .updateTable('attempts')
    .set({ window_ends_at: sql`now()` })
    .execute()
}
