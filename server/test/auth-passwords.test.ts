import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { goodPassword, openBrowser, type Person } from './browser.ts'
import { collide } from './forced-race.ts'
import { startTestServer, type Answer } from './harness.ts'

const server = await startTestServer({ after }, { worker: false })
const { db } = server.app
const newPassword = 'another good password'

test('a change needs the current password and ends all other sessions', async () => {
  const person = await server.signUp()
  const other = await person.signInAgain()
  const wrong = await change(person, 'a wrong password')
  assert.deepEqual([wrong.status, wrong.body.error.code], [403, 'permission_denied'])
  assert.equal((await other.call('GET', '/v1/auth/me')).status, 200)

  assert.equal((await change(person, goodPassword)).status, 204)
  assert.equal((await person.call('GET', '/v1/auth/me')).status, 200)
  assert.equal((await other.call('GET', '/v1/auth/me')).status, 401)
  assert.equal(await loginStatus(person, goodPassword), 401)
  assert.equal(await loginStatus(person, newPassword), 200)
  const { body } = await person.call('GET', '/v1/audit-events?type=auth.password_changed')
  assert.deepEqual(
    body.data.map(({ outcome }: { outcome: string }) => outcome),
    ['succeeded', 'denied'],
  )
})

test('wrong current passwords are limited, and keep nobody from logging in', async () => {
  const person = await server.signUp()
  for (let tries = 0; tries < 10; tries++) {
    assert.equal((await change(person, 'a wrong password')).status, 403)
  }
  const refused = await change(person, goodPassword)
  assert.deepEqual([refused.status, refused.body.error.code], [429, 'rate_limited'])
  assert.equal(await loginStatus(person, goodPassword), 200)
})

test('a login that verified the old password during a change is refused', async () => {
  const person = await server.signUp()
  const { password_hash } = await rowOf(await server.signUp())
  const [status] = await collide(
    db,
    (tx) => tx.updateTable('users').set({ password_hash }).where('id', '=', person.id).execute(),
    [() => loginStatus(person, goodPassword)],
  )
  // Another hash of the same password: not the hash that the login verified.
  assert.equal(status, 401)
  assert.equal(await loginStatus(person, goodPassword), 200)
})

test('no login survives a concurrent change of the password', async () => {
  const person = await server.signUp()
  const browser = openBrowser(server.http)
  const { email } = person
  const [changed] = await collide(db, holdUser(person), [
    () => change(person, goodPassword),
    () => browser.call('POST', '/v1/auth/login', { email, password: goodPassword }),
  ])
  assert.equal(changed!.status, 204)
  assert.equal((await browser.call('GET', '/v1/auth/me')).status, 401)
  assert.equal((await person.call('GET', '/v1/auth/me')).status, 200)
})

function change(person: Person, current_password: string): Promise<Answer> {
  const body = { current_password, new_password: newPassword }
  return person.call('POST', '/v1/auth/password', body)
}

async function loginStatus({ email }: Person, password: string): Promise<number> {
  const answer = await server.anonymous('POST', '/v1/auth/login', { email, password })
  return answer.status
}

const holdUser = (person: Person) => (tx: typeof db) =>
  tx.selectFrom('users').select('id').where('id', '=', person.id).forUpdate().execute()

async function rowOf({ id }: Person) {
  return db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
}
