import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { sweepAccounts } from '../src/domain/accounts/sweep.ts'
import { goodPassword, openBrowser } from './browser.ts'
import { collide } from './forced-race.ts'
import { startTestServer } from './harness.ts'
import { holdUser, linkOf, lookUp, printLink, refusedLink, use } from './login-link.ts'

/* What ends a sign-in link before it is used. */

const server = await startTestServer({ after }, { worker: false })
const { db } = server.app
const ada = { email: 'Ada@Example.com', password: goodPassword, name: 'Ada' }

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
  const link = await linkOf(server.app, person.id)
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
  await assert.rejects(linkOf(server.app, person.id), /no result/)
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
  const { hash } = await linkOf(server.app, person.id)
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
  await assert.rejects(linkOf(server.app, deleted.id), /no result/)
})
