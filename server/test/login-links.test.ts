import type { UserId } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { sweepAccounts } from '../src/domain/accounts/sweep.ts'
import { createToken } from '../src/domain/accounts/tokens.ts'
import { createLoginLink } from '../src/domain/operator/login-links.ts'
import { goodPassword, openBrowser, setCookie, type Browser } from './browser.ts'
import { collide } from './forced-race.ts'
import { startTestServer, type Answer, type TestServer } from './harness.ts'

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

test('a link that was claimed meanwhile through another one is no longer usable', async (t) => {
  const fresh = await startTestServer(t, { worker: false })
  const owner = await fresh.app.db.selectFrom('users').select('id').executeTakeFirstOrThrow()
  const links = [await printLink(fresh), await printLink(fresh)]
  const answers = await collide(
    fresh.app.db,
    holdUser(owner.id),
    links.map(
      ({ token }) =>
        () =>
          use(openBrowser(fresh.http), token, ada),
    ),
  )
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 404])
  const { count } = await fresh.app.db
    .selectFrom('auth_sessions')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  assert.equal(Number(count), 1)
})

test('a link expires after ten minutes, by the clock of the database, and is swept', async () => {
  const person = await server.signUp()
  const { token, expiresAt } = await printLink(server, person.email)
  const link = await linkOf(person.id)
  assert.equal(link.seconds, 600)
  assert.deepEqual(link.expires_at, expiresAt)
  await db
    .updateTable('login_links')
    .set({ expires_at: sql`now()` })
    .where('user_id', '=', person.id)
    .execute()
  refusedLink(await lookUp(openBrowser(server.http), token))
  refusedLink(await use(openBrowser(server.http), token))
  await sweepAccounts(db)
  await assert.rejects(linkOf(person.id), /no result/)
})

test('a link that expires while its use waits is refused', async () => {
  const person = await server.signUp()
  const { token } = await printLink(server, person.email)
  const [answer] = await collide(
    db,
    holdUser(person.id),
    [() => use(openBrowser(server.http), token)],
    (tx) =>
      tx
        .updateTable('login_links')
        .set({ expires_at: sql`clock_timestamp()` })
        .where('user_id', '=', person.id)
        .execute(),
  )
  refusedLink(answer!)
})

test('only the hash of a token is stored', async () => {
  const person = await server.signUp()
  const { token } = await printLink(server, person.email)
  const { hash } = await linkOf(person.id)
  assert.equal(hash.length, 32)
  const { rows } = await sql<{ row: string }>`
    select to_jsonb(l)::text as row from login_links l
    union all select to_jsonb(a)::text from audit_events a`.execute(db)
  for (const { row } of rows) assert.ok(!row.includes(token.slice(-43)))
})

test('a new password, a disabled account, a lost membership and a deletion end links', async () => {
  const changed = await server.signUp()
  const first = await printLink(server, changed.email)
  const passwords = { current_password: changed.password, new_password: 'another good password' }
  assert.equal((await changed.call('POST', '/v1/auth/password', passwords)).status, 204)
  refusedLink(await use(openBrowser(server.http), first.token))

  const disabled = await server.signUp()
  const second = await printLink(server, disabled.email)
  const disable = db.updateTable('users').where('id', '=', disabled.id)
  await disable.set({ disabled_at: sql`now()` }).execute()
  refusedLink(await lookUp(openBrowser(server.http), second.token))
  refusedLink(await use(openBrowser(server.http), second.token))

  const moved = await server.signUp()
  const third = await printLink(server, moved.email)
  const home = await db.selectFrom('organizations').select('id').orderBy('id').executeTakeFirst()
  await db
    .updateTable('memberships')
    .set({ organization_id: home!.id })
    .where('user_id', '=', moved.id)
    .execute()
  refusedLink(await use(openBrowser(server.http), third.token))

  const deleted = await server.signUp()
  await printLink(server, deleted.email)
  const gone = await deleted.call('DELETE', '/v1/auth/me', { password: deleted.password })
  assert.equal(gone.status, 204)
  await assert.rejects(linkOf(deleted.id), /no result/)
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

async function printLink({ app }: Pick<TestServer, 'app'>, email: string | null = null) {
  const link = await createLoginLink(app, operator, email)
  return { ...link, token: new URL(link.url).hash.slice('#token='.length) }
}

function lookUp(browser: Browser, token: string): Promise<Answer> {
  return browser.call('POST', '/v1/auth/login-link/lookup', { token })
}

function use(browser: Browser, token: string, account?: object): Promise<Answer> {
  return browser.call('POST', '/v1/auth/login-link', { token, ...(account && { account }) })
}

function refusedLink({ status, body }: Answer): void {
  assert.deepEqual([status, body.error.code], [404, 'not_found'])
  assert.match(body.error.message, /computer admin login-link/)
}

const holdUser = (id: UserId) => (tx: TestServer['app']['db']) =>
  sql`select from users where id = ${id} for no key update`.execute(tx)

function linkOf(userId: UserId) {
  return db
    .selectFrom('login_links')
    .select(['token_hash as hash', 'expires_at'])
    .select(sql<number>`extract(epoch from expires_at - created_at)::int`.as('seconds'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
}
