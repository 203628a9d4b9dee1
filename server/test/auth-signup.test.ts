import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { goodPassword, openBrowser, type Person } from './browser.ts'
import { startTestServer, type Answer, type TestServer } from './harness.ts'
import { givePlan } from './plans.ts'

const server = await startTestServer({ after }, { worker: false, plan: 'startup' })
const env = { COMPUTER_SIGNUP: 'closed', COMPUTER_SIGNUP_PLAN: 'pro' }
const closed = await startTestServer({ after }, { worker: false, env })

test('a sign-up with an invitation creates a personal organization and enters the inviting one', async () => {
  const host = await hostOf(server)
  const invited = await invite(host, 'invited@example.com')
  const browser = openBrowser(server.http)
  const answer = await signUp(browser.call, 'Invited@example.com', invited.token)
  assert.equal(answer.status, 201)
  const { organization, organizations, role } = answer.body
  assert.deepEqual([organization.id, role], [host.personalId, 'member'])
  assert.equal(organizations.length, 2)
  assert.deepEqual((await browser.call('GET', '/v1/auth/me')).body, answer.body)
  assert.deepEqual(await pending(host), [])

  // Repeated after a lost response: enters the same organization.
  const again = await signUp(openBrowser(server.http).call, 'invited@example.com', invited.token)
  assert.deepEqual([again.status, again.body], [201, answer.body])
})

test('a user with an account accepts an invitation by signing up with its password', async () => {
  const host = await hostOf(server)
  const person = await server.signUp()
  const { token } = await invite(host, person.email)
  const browser = openBrowser(server.http)
  const guess = await signUp(browser.call, person.email, token, 'a wrong password')
  assert.equal(guess.status, 409)
  assert.deepEqual(await pending(host), [person.email])
  const answer = await signUp(browser.call, person.email, token)
  assert.deepEqual([answer.status, answer.body.user.id], [201, person.id])
  assert.equal(answer.body.organization.id, host.personalId)
  assert.deepEqual(await pending(host), [])
})

test('an invalid invitation creates no account', async () => {
  const host = await hostOf(server)
  const { token } = await invite(host, 'somebody@example.com')
  const revoked = await invite(host, 'revoked@example.com')
  await host.call('DELETE', `/v1/invitations/${revoked.id}`)
  for (const [email, bad, code] of [
    ['another@example.com', token, 'permission_denied'],
    ['somebody@example.com', `${token}x`, 'not_found'],
    ['revoked@example.com', revoked.token, 'conflict'],
  ] as const) {
    const answer = await signUp(openBrowser(server.http).call, email, bad)
    assert.equal(answer.body.error.code, code)
    assert.equal(answer.headers['set-cookie'], undefined)
    const { db } = server.app
    const users = await db.selectFrom('users').select('id').where('email', '=', email).execute()
    assert.deepEqual(users, [])
  }
  assert.deepEqual(await pending(host), ['somebody@example.com'])
})

test('closed sign-up requires an invitation, and existing accounts still sign in', async () => {
  const { db } = closed.app
  const refused = await signUp(openBrowser(closed.http).call, 'uninvited@example.com')
  assert.deepEqual([refused.status, refused.body.error.code], [403, 'permission_denied'])
  const bogus = await signUp(openBrowser(closed.http).call, 'uninvited@example.com', 'bogus')
  assert.deepEqual([bogus.status, bogus.body.error.code], [404, 'not_found'])
  assert.equal((await db.selectFrom('users').select('id').execute()).length, 1)

  const owner = await closed.user('owner')
  const call = closed.as(owner)
  const answer = await call('POST', '/v1/invitations', { email: 'invited@example.com' })
  const token = tokenOf(answer)
  const entered = await signUp(openBrowser(closed.http).call, 'invited@example.com', token)
  assert.deepEqual([entered.status, entered.body.organization.id], [201, owner.organizationId])
  const login = { email: 'invited@example.com', password: goodPassword }
  assert.equal((await openBrowser(closed.http).call('POST', '/v1/auth/login', login)).status, 200)
})

test('organizations created by sign-up have the configured plan', async () => {
  const rows = await closed.app.db
    .selectFrom('organizations as o')
    .innerJoin('memberships as m', 'm.organization_id', 'o.id')
    .innerJoin('users as u', 'u.id', 'm.user_id')
    .innerJoin('billing_periods as b', 'b.organization_id', 'o.id')
    .select('b.plan_id')
    .where('u.email', '=', 'invited@example.com')
    .orderBy('m.id')
    .execute()
  assert.deepEqual(
    rows.map(({ plan_id }) => plan_id),
    ['pro', 'startup'],
  )
})

/** A user whose organization can have other members. */
async function hostOf({ app, signUp: join }: TestServer): Promise<Person> {
  const host = await join()
  await givePlan(app.db, { planId: 'startup' }, host.personalId)
  return host
}

async function invite(host: Person, email: string) {
  const answer = await host.call('POST', '/v1/invitations', { email })
  assert.equal(answer.status, 201)
  return { id: answer.body.id as string, token: tokenOf(answer) }
}

function tokenOf({ body }: Answer): string {
  return new URL(body.accept_url).hash.slice('#token='.length)
}

function signUp(
  call: Person['call'],
  email: string,
  invitation_token?: string,
  password = goodPassword,
): Promise<Answer> {
  return call('POST', '/v1/auth/signup', { email, password, invitation_token })
}

async function pending(host: Person): Promise<string[]> {
  const { body } = await host.call('GET', '/v1/invitations')
  return body.data.map(({ email }: { email: string }) => email)
}
