import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { createToken } from '../src/domain/accounts/tokens.ts'
import { printLoginLink } from '../src/host/admin/login-link.ts'
import { lockDataDir } from '../src/host/server-lock.ts'
import { goodPassword, openBrowser, setCookie } from './browser.ts'
import { collide } from './forced-race.ts'
import { startTestServer, type Answer } from './harness.ts'
import { holdUser, lookUp, printLink, refusedLink, use } from './login-link.ts'

/* Sign-in links: the first person's way in, and that of people who are locked out. */

const server = await startTestServer({ after }, { worker: false })
const { db } = server.app
const operator = { type: 'operator', id: 'operator', name: 'root' } as const
const ada = { email: 'Ada@Example.com', password: goodPassword, name: 'Ada' }

test('the first link makes the first owner the account of a person', async (t) => {
  const fresh = await startTestServer(t)
  const { body: before } = await fresh.call('GET', '/v1/auth/me')
  const machine = await fresh.call('POST', '/v1/machines', { start: false })
  const owner = await fresh.app.db.selectFrom('users').selectAll().executeTakeFirstOrThrow()
  const link = await printLink(fresh)
  assert.match(
    link.url,
    /^http:\/\/127\.0\.0\.1:7080\/welcome#token=computer_login_link_[\w-]{43}$/,
  )
  assert.equal(link.account, null)

  const browser = openBrowser(fresh.http)
  const looked = await lookUp(browser, link.token)
  assert.deepEqual(looked.body, {
    organization: { name: 'Home' },
    account: null,
    expires_at: link.expiresAt.toISOString(),
  })
  const { status, body } = await use(browser, link.token, ada)
  assert.equal(status, 200)
  assert.deepEqual(body.user, { id: owner.id, email: 'ada@example.com', name: 'Ada' })
  assert.deepEqual([body.organization, body.role], [before.organization, 'owner'])
  assert.equal(body.organizations.length, 1)
  assert.equal((await browser.call('GET', '/v1/auth/me')).body.user.id, owner.id)

  // The first key and everything made with it have the same owner.
  assert.equal((await fresh.call('GET', '/v1/auth/me')).status, 200)
  const seen = await browser.call('GET', `/v1/machines/${machine.body.id}`)
  assert.deepEqual([seen.status, seen.body.created_by], [200, machine.body.created_by])
  const { email, password } = ada
  const again = await openBrowser(fresh.http).call('POST', '/v1/auth/login', { email, password })
  assert.equal(again.status, 200)

  const { body: log } = await browser.call('GET', '/v1/audit-events')
  const entries = log.data.map((one: Entry) => [one.type, one.actor.type, one.actor.name])
  assert.deepEqual(entries.slice(1), [
    ['auth.signed_up', 'user', 'Ada'],
    ['auth.login_link_created', 'operator', 'root'],
  ])
  assert.equal(log.data[1].message, 'with a sign-in link')
})

test('an account of one field too few is refused, and the link stays usable', async (t) => {
  const fresh = await startTestServer(t, { worker: false })
  const { token } = await printLink(fresh)
  const browser = openBrowser(fresh.http)
  const refusals = [
    [undefined, 'account'],
    [{ email: 'ada', password: goodPassword }, 'account.email'],
    [{ ...ada, password: 'short' }, 'account.password'],
    [{ ...ada, role: 'owner' }, 'account.role'],
  ] as const
  for (const [account, field] of refusals) {
    const { status, body } = await use(browser, token, account)
    assert.deepEqual([status, body.error.code], [400, 'invalid_request'])
    assert.equal(body.error.details[0].field, field)
  }
  const other = await fresh.signUp({ email: 'ada@example.com' })
  const taken = await use(browser, token, ada)
  assert.deepEqual([taken.status, taken.body.error.code], [409, 'conflict'])
  assert.match(taken.body.error.message, /ada@example\.com already has an account/)
  assert.equal(browser.cookie(), null)
  assert.equal((await other.call('GET', '/v1/auth/me')).status, 200)

  const bob = { email: 'bob.the.builder@example.com', password: goodPassword }
  const { status, body } = await use(browser, token, bob)
  assert.deepEqual([status, body.user.name], [200, 'bob.the.builder'])
})

test('a sign-up that takes the email at the same moment leaves a conflict', async (t) => {
  const fresh = await startTestServer(t, { worker: false })
  const { token } = await printLink(fresh)
  const [answer] = await collide(
    fresh.app.db,
    (tx) =>
      tx
        .insertInto('users')
        .values({ id: `usr_${'0'.repeat(26)}`, email: 'ada@example.com', name: 'Other' })
        .execute(),
    [() => use(openBrowser(fresh.http), token, ada)],
  )
  assert.deepEqual([answer!.status, answer!.body.error.code], [409, 'conflict'])
})

test('a link of an existing account signs it in, without a password', async () => {
  const person = await server.signUp({ name: 'Grace' })
  const link = await printLink(server, person.email.toUpperCase())
  assert.deepEqual(link.account, { email: person.email, name: 'Grace' })
  const browser = openBrowser(server.http)
  const { body: looked } = await lookUp(browser, link.token)
  assert.deepEqual(looked.account, { email: person.email, name: 'Grace' })
  assert.equal(looked.organization.name, "Grace's organization")

  const refused = await use(browser, link.token, ada)
  assert.deepEqual([refused.status, refused.body.error.details[0].field], [400, 'account'])
  const { status, body, headers } = await use(browser, link.token)
  assert.deepEqual([status, body.user.id], [200, person.id])
  assert.equal(body.organization.id, person.personalId)
  assert.match(String(headers['set-cookie']), /^computer_session=.*; HttpOnly; SameSite=Lax/)
  // Nothing of the account changes, and its other sessions go on.
  assert.equal((await person.call('GET', '/v1/auth/me')).status, 200)
  await person.signInAgain()

  const { body: log } = await person.call('GET', '/v1/audit-events?limit=3')
  const [, signedIn, printed] = log.data as Entry[]
  assert.deepEqual([signedIn!.type, signedIn!.message], ['auth.signed_in', 'with a sign-in link'])
  assert.deepEqual([printed!.type, printed!.target.name], ['auth.login_link_created', person.email])
})

test('without an email a link is for the person who owns the first organization', async (t) => {
  const fresh = await startTestServer(t, { worker: false })
  await use(openBrowser(fresh.http), (await printLink(fresh)).token, ada)
  const browser = openBrowser(fresh.http)
  const signIn = async () => {
    const { token } = await printLink(fresh)
    return (await use(browser, token)).body
  }
  assert.deepEqual([(await signIn()).user.email], ['ada@example.com'])
  // It leads to that organization, wherever its owner has been since.
  const { body: second } = await browser.call('POST', '/v1/organizations', { name: 'Second' })
  const entered = { organization_id: second.id }
  await browser.call('POST', '/v1/auth/switch-organization', entered)
  assert.equal((await signIn()).organization.name, 'Home')

  await fresh.app.db
    .updateTable('users')
    .set({ disabled_at: sql`now()` })
    .execute()
  await assert.rejects(
    printLink(fresh),
    /no enabled owner of the first organization; name a user with --email/,
  )
  await assert.rejects(printLink(fresh, 'ada@example.com'), /computer admin user enable ada@/)
  await assert.rejects(printLink(fresh, 'nobody@example.com'), /no user nobody@example\.com/)
})

test('a person who owns the first organization comes before the owner that nobody claimed', async (t) => {
  const fresh = await startTestServer(t, { worker: false })
  const person = await fresh.signUp()
  const home = await fresh.app.db
    .selectFrom('organizations')
    .select('id')
    .where('name', '=', 'Home')
    .executeTakeFirstOrThrow()
  const membership = { id: `mem_${'z'.repeat(26)}`, user_id: person.id, role: 'owner' } as const
  await fresh.app.db
    .insertInto('memberships')
    .values({ ...membership, organization_id: home.id })
    .execute()
  assert.equal((await printLink(fresh)).account?.email, person.email)
})

test('a link works once, and a look does not use it up', async () => {
  const person = await server.signUp()
  const { token } = await printLink(server, person.email)
  for (let count = 0; count < 2; count += 1) {
    assert.equal((await lookUp(openBrowser(server.http), token)).status, 200)
  }
  assert.equal((await use(openBrowser(server.http), token)).status, 200)
  for (const answer of [
    await lookUp(openBrowser(server.http), token),
    await use(openBrowser(server.http), token),
    await use(openBrowser(server.http), token, ada),
    await use(openBrowser(server.http), createToken('login_link')),
    await use(openBrowser(server.http), createToken('reset')),
    await use(openBrowser(server.http), token.slice(0, -1)),
  ]) {
    refusedLink(answer)
    assert.equal(setCookie(answer), null)
  }
})

test('of two concurrent uses of one link, one signs in', async (t) => {
  const fresh = await startTestServer(t, { worker: false })
  const owner = await fresh.app.db.selectFrom('users').select('id').executeTakeFirstOrThrow()
  const { token } = await printLink(fresh)
  const emails = ['first@example.com', 'second@example.com']
  const race = (calls: readonly (() => Promise<Answer>)[]) =>
    collide(fresh.app.db, holdUser(owner.id), calls)
  const claims = await race(
    emails.map((email) => () => use(openBrowser(fresh.http), token, { ...ada, email })),
  )
  const winner = claims.findIndex(({ status }) => status === 200)
  refusedLink(claims[1 - winner]!)
  const row = await fresh.app.db.selectFrom('users').select('email').executeTakeFirstOrThrow()
  assert.equal(row.email, emails[winner])

  const next = await printLink(fresh)
  const signIns = await race([1, 2].map(() => () => use(openBrowser(fresh.http), next.token)))
  assert.deepEqual(signIns.map(({ status }) => status).sort(), [200, 404])
})

// Whatever variables the shell of its operator has.
test('a link leads to the address of the running server', async (t) => {
  const person = await server.signUp()
  const dataDir = await mkdtemp(join(tmpdir(), 'computer-login-link-'))
  t.after(() => rm(dataDir, { recursive: true, force: true }))
  const addresses = { address: 'http://x', dashboardUrl: 'https://computer.example.com' }
  using _ = lockDataDir(dataDir, addresses)
  const app = { db, config: { ...server.app.config, dataDir } }
  const { text: beside } = await printLoginLink(app, operator, person.email)
  assert.ok(beside.startsWith('https://computer.example.com/welcome#token='))
  assert.ok(beside.includes(`signs in ${person.email}`))
})

test('pages of other sites cannot use links, and one address cannot try without end', async () => {
  const person = await server.signUp()
  const { token } = await printLink(server, person.email)
  const browser = openBrowser(server.http)
  for (const path of ['/v1/auth/login-link/lookup', '/v1/auth/login-link']) {
    const foreign = await browser.call('POST', path, { token }, { origin: 'https://evil.example' })
    assert.deepEqual([foreign.status, foreign.body.error.code], [403, 'permission_denied'])
    const own = await browser.call('POST', path, { token }, { accept: '*/*' })
    assert.equal(own.headers['cache-control'], 'no-store')
  }

  const { token: next } = await printLink(server, person.email)
  const guesser = openBrowser(server.http)
  for (let count = 0; count < 30; count += 1) {
    refusedLink(await lookUp(guesser, createToken('login_link')))
  }
  for (const answer of [await lookUp(guesser, next), await use(guesser, next)]) {
    assert.deepEqual([answer.status, answer.body.error.code], [429, 'rate_limited'])
    assert.ok(Number(answer.headers['retry-after']) > 0)
  }
  assert.equal((await use(openBrowser(server.http), next)).status, 200)
})

type Entry = {
  readonly type: string
  readonly actor: { readonly type: string; readonly name: string }
  readonly target: { readonly name: string }
  readonly message: string | null
}
