import type { OrganizationId, UserId } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { sweepAccounts } from '../src/domain/accounts/sweep.ts'
import { newId } from '../src/ids.ts'
import { openBrowser, type Browser, type Person } from './browser.ts'
import { startTestServer, type Call } from './harness.ts'
import { eventually } from './settled.ts'

const server = await startTestServer({ after })
const { db } = server.app

test('a person sees their sessions, newest first, and which one asks', async () => {
  const person = await server.signUp()
  const phone = await person.signInAgain()
  const laptop = await person.signInAgain()
  await phone.call('POST', '/v1/auth/logout')
  const { body } = await laptop.call('GET', '/v1/auth/sessions')
  assert.equal(body.data.length, 2)
  const [newest, oldest] = body.data
  assert.deepEqual([newest.current, oldest.current], [true, false])
  assert.match(newest.id, /^aus_/)
  assert.ok(newest.id > oldest.id)
  assert.equal(newest.organization_id, person.personalId)
  assert.equal(newest.user_agent, 'A browser')
  assert.match(newest.address, /^10\./)
  const days = (Date.parse(newest.expires_at) - Date.parse(newest.created_at)) / 86_400_000
  assert.equal(days, 30)

  const page = await laptop.call('GET', '/v1/auth/sessions?limit=1')
  assert.deepEqual([page.body.data, page.body.has_more], [[newest], true])
  const rest = await laptop.call('GET', `/v1/auth/sessions?cursor=${page.body.next_cursor}`)
  assert.deepEqual(rest.body.data, [oldest])
})

test('a session that is revoked is refused at once, and the others go on', async () => {
  const person = await server.signUp()
  const other = await person.signInAgain()
  const id = await currentId(other)
  const revoke = () => person.call('DELETE', `/v1/auth/sessions/${id}`)
  assert.equal((await revoke()).status, 204)
  const refused = await other.call('GET', '/v1/auth/me')
  assert.deepEqual([refused.status, refused.body.error.code], [401, 'unauthenticated'])
  assert.equal((await person.call('GET', '/v1/auth/me')).status, 200)
  assert.equal((await revoke()).status, 204)
  assert.deepEqual(await audited(person, 'auth.session_revoked'), ['succeeded'])
})

test("nobody sees or revokes another's session", async () => {
  const person = await server.signUp()
  const stranger = await server.signUp()
  const id = await currentId(person)
  const answer = await stranger.call('DELETE', `/v1/auth/sessions/${id}`)
  assert.deepEqual([answer.status, answer.body.error.code], [404, 'not_found'])
  const { body } = await stranger.call('GET', '/v1/auth/sessions')
  assert.equal(body.data.length, 1)
  assert.equal((await person.call('GET', '/v1/auth/me')).status, 200)
})

test('a session lasts for 30 days after its last use, by the clock of the database', async () => {
  const person = await server.signUp()
  const id = await currentId(person)
  await age(id, '29 days')
  // A call that the cache answers records no use.
  server.app.principals.invalidate()
  assert.equal((await person.call('GET', '/v1/auth/me')).status, 200)
  // The use is recorded without delaying the response.
  const used = await eventually(async () => {
    const row = await readSession(id)
    return row.days_left > 29 ? row : undefined
  })
  assert.ok(used.seconds_unused < 60)

  await age(id, '30 days')
  await refusedSoon(person.call)
  const other = await person.signInAgain()
  const { body } = await other.call('GET', '/v1/auth/sessions')
  assert.deepEqual(
    body.data.map((one: { current: boolean }) => one.current),
    [true],
  )
})

test('who uses a session, and from where, is noted once a minute', async () => {
  const person = await server.signUp()
  const id = await currentId(person)
  const elsewhere = (address: string) => {
    const headers = { cookie: person.cookie()!, 'user-agent': 'x'.repeat(1000) }
    return openBrowser(server.http, address).call('GET', '/v1/auth/me', undefined, headers)
  }
  const first = await readSession(id)
  assert.equal((await elsewhere('192.0.2.1')).status, 200)
  await age(id, '61 seconds')
  const noted = await eventually(async () => {
    await elsewhere('192.0.2.2')
    const row = await readSession(id)
    return row.address === first.address ? undefined : row
  })
  assert.deepEqual([noted.address, noted.user_agent?.length], ['192.0.2.2', 400])
  for (let calls = 0; calls < 5; calls += 1) await elsewhere('192.0.2.3')
  assert.equal((await readSession(id)).address, '192.0.2.2')
})

test('a person acts in the organization they switch to, in that browser alone', async () => {
  const person = await server.signUp()
  const other = await person.signInAgain()
  const organizationId = await join(person, 'member')
  const switched = await enter(person.call, organizationId)
  assert.equal(switched.status, 200)
  assert.deepEqual(
    [switched.body.organization.id, switched.body.role, switched.body.organizations.length],
    [organizationId, 'member', 2],
  )
  assert.ok(!switched.body.permissions.includes('members:manage'))
  assert.deepEqual((await person.call('GET', '/v1/auth/me')).body, switched.body)
  assert.equal((await person.call('POST', '/v1/api-keys', newKey)).status, 403)
  assert.equal(await activeOrganization(other.call), person.personalId)
  assert.equal((await other.call('POST', '/v1/api-keys', newKey)).status, 201)
  assert.equal((await enter(person.call, organizationId)).status, 200)
  const entered = await db
    .selectFrom('audit_events')
    .select(['organization_id', 'actor_id'])
    .where('type', '=', 'organization.entered')
    .execute()
  assert.deepEqual(entered, [{ organization_id: organizationId, actor_id: person.id }])
})

test('the next session acts where the last one did', async () => {
  const person = await server.signUp()
  const organizationId = await join(person, 'member')
  const other = await person.signInAgain()
  await enter(other.call, organizationId)
  const next = await person.signInAgain()
  assert.equal(await activeOrganization(next.call), organizationId)
})

test('nobody switches to an organization that is not theirs', async () => {
  const person = await server.signUp()
  const stranger = await server.signUp()
  for (const id of [stranger.personalId, newId('org')]) {
    const answer = await enter(person.call, id)
    assert.deepEqual([answer.status, answer.body.error.code], [404, 'not_found'])
  }
  assert.equal(await activeOrganization(person.call), person.personalId)
})

test('who loses the organization acts in another of theirs, the personal one first', async () => {
  const person = await server.signUp()
  const lost = await join(person, 'owner')
  await join(person, 'admin')
  await enter(person.call, lost)
  await db.deleteFrom('memberships').where('organization_id', '=', lost).execute()
  await eventually(async () => (await activeOrganization(person.call)) !== lost || undefined)
  const { body } = await person.call('GET', '/v1/auth/me')
  assert.deepEqual([body.organization.id, body.role], [person.personalId, 'owner'])
  assert.equal(body.organizations.length, 2)
  const { body: list } = await person.call('GET', '/v1/auth/sessions')
  assert.equal(list.data[0].organization_id, person.personalId)
  // It stays there, also if they come back.
  await eventually(async () => {
    const { organization_id } = await readSession(list.data[0].id)
    return organization_id === person.personalId || undefined
  })
  await addMember(lost, person.id, 'member')
  assert.equal(await activeOrganization(person.call), person.personalId)
})

test('who lost the organization this very moment is told nothing that is broken', async () => {
  const actor = await server.user('admin')
  const call = server.as(actor)
  await db.deleteFrom('memberships').where('user_id', '=', actor.userId).execute()
  const { status, body } = await call('GET', '/v1/auth/me')
  assert.deepEqual([status, body.organization.id], [200, actor.organizationId])
  assert.deepEqual(body.organizations, [])
})

test('the session and the keys of a disabled account are refused, and so is its password', async () => {
  const person = await server.signUp()
  const key = await person.call('POST', '/v1/api-keys', newKey)
  const byKey: Call = (method, path) =>
    server.anonymous(method, path, undefined, { authorization: `Bearer ${key.body.secret}` })
  assert.equal((await byKey('GET', '/v1/auth/me')).status, 200)
  await db
    .updateTable('users')
    .set({ disabled_at: sql`now()` })
    .where('id', '=', person.id)
    .execute()
  await refusedSoon(person.call)
  await refusedSoon(byKey)
  await assert.rejects(person.signInAgain(), /401/)
  await db.updateTable('users').set({ disabled_at: null }).where('id', '=', person.id).execute()
  await eventually(async () => (await byKey('GET', '/v1/auth/me')).status === 200 || undefined)
})

test('an idempotent call answers again to the same session, whatever other cookies come with it', async () => {
  const person = await server.signUp()
  const create = (call: Call, cookies: string) =>
    call('POST', '/v1/api-keys', newKey, { cookie: cookies, 'idempotency-key': 'once' })
  const cookie = person.cookie()!
  const first = await create(person.call, cookie)
  const second = await create(person.call, `theme=dark; ${cookie}; _ga=1.2.3`)
  assert.deepEqual([second.status, second.body], [201, first.body])
  assert.equal(second.headers['idempotent-replayed'], 'true')
  const other = await person.signInAgain()
  const refused = await create(other.call, other.cookie()!)
  assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict'])
})

test('what is over is swept, and what is not stays', async () => {
  const person = await server.signUp()
  const other = await person.signInAgain()
  const id = await currentId(other)
  await other.call('POST', '/v1/auth/logout')
  await sweepAccounts(db)
  assert.equal((await readSession(id)).id, id)
  await db
    .updateTable('auth_sessions')
    .set({ revoked_at: sql`now() - interval '31 days'` })
    .where('id', '=', id as never)
    .execute()
  await sweepAccounts(db)
  await assert.rejects(readSession(id), /no result/)
  assert.equal((await person.call('GET', '/v1/auth/me')).status, 200)
})

const newKey = { name: 'A key', scopes: ['machines:read'] }

async function currentId({ call }: Browser): Promise<string> {
  const { body } = await call('GET', '/v1/auth/sessions')
  return body.data.find(({ current }: { current: boolean }) => current).id
}

function enter(call: Call, id: string) {
  return call('POST', '/v1/auth/switch-organization', { organization_id: id })
}

async function activeOrganization(call: Call): Promise<string> {
  const { status, body } = await call('GET', '/v1/auth/me')
  assert.equal(status, 200)
  return body.organization.id
}

/** One more organization, which somebody else owns. */
async function join({ id }: Person, role: 'owner' | 'admin' | 'member'): Promise<OrganizationId> {
  const { personalId } = await server.signUp()
  await addMember(personalId, id, role)
  return personalId
}

async function addMember(
  organizationId: OrganizationId,
  userId: UserId,
  role: 'owner' | 'admin' | 'member',
): Promise<void> {
  const membership = { organization_id: organizationId, user_id: userId, role }
  await db
    .insertInto('memberships')
    .values({ id: newId('mem'), ...membership })
    .execute()
}

/** As if it had last been used that long ago. */
async function age(id: string, since: string): Promise<void> {
  await db
    .updateTable('auth_sessions')
    .set({
      last_used_at: sql`now() - ${since}::interval`,
      expires_at: sql`now() - ${since}::interval + interval '30 days'`,
    })
    .where('id', '=', id as never)
    .execute()
}

async function readSession(id: string) {
  return db
    .selectFrom('auth_sessions')
    .selectAll()
    .select([
      sql<number>`extract(epoch from expires_at - now())::float / 86400`.as('days_left'),
      sql<number>`extract(epoch from now() - last_used_at)::float`.as('seconds_unused'),
    ])
    .where('id', '=', id as never)
    .executeTakeFirstOrThrow()
}

/** What changes behind the server's back counts within a second. */
async function refusedSoon(call: Call): Promise<void> {
  await eventually(async () => {
    const { status } = await call('GET', '/v1/auth/me')
    assert.ok(status === 200 || status === 401, `${status}`)
    return status === 401 || undefined
  })
}

async function audited({ call }: Person, type: string): Promise<string[]> {
  const { body } = await call('GET', `/v1/audit-events?type=${type}`)
  return body.data.map(({ outcome }: { outcome: string }) => outcome)
}
