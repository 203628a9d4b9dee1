import type { MembershipId, Role } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import type { Tx } from '../src/db/database.ts'
import { newId } from '../src/ids.ts'
import type { Person } from './browser.ts'
import { assertRefused } from './disks.ts'
import { collide, holdOrganization } from './forced-race.ts'
import { startTestGateway } from './gateway.ts'
import { startTestServer } from './harness.ts'
import { gone } from './settled.ts'
import { givePlan } from './plans.ts'

const server = await startTestServer({ after }, { plan: 'startup' })
const gateway = await startTestGateway({ after }, server.app)
const { db } = server.app

test('an organization is deleted with its members, keys and invitations', async () => {
  const { owner, organizationId, keyOf } = await newOrganization()
  const colleague = await server.signUp()
  await join(colleague, organizationId, 'admin')
  const homeless = await server.signUp()
  await join(homeless, organizationId, 'member')
  await db.deleteFrom('memberships').where('organization_id', '=', homeless.personalId).execute()
  const keys = [await keyOf(owner), await keyOf(colleague)]
  const invited = await owner.call('POST', '/v1/invitations', { email: 'late@example.com' })
  const streams = await Promise.all(keys.map(({ secret }) => follow(secret)))
  for (const key of keys) assert.equal((await key.call('GET', '/v1/machines')).status, 200)

  assert.equal((await remove(owner, organizationId)).status, 204)
  for (const key of keys) assert.equal((await key.call('GET', '/v1/machines')).status, 401)
  for (const stream of streams) assert.equal((await stream.closed).code, 4401)
  for (const person of [owner, colleague, homeless]) {
    const { body: me } = await person.call('GET', '/v1/auth/me')
    assert.notEqual(me.organization.id, organizationId)
    assert.deepEqual([me.role, me.organizations.length], ['owner', 1])
  }
  const late = await server.signUp({ email: 'late@example.com' })
  const token = new URL(invited.body.accept_url).hash.slice('#token='.length)
  for (const step of ['accept', 'lookup'])
    assert.equal((await late.call('POST', `/v1/invitations/${step}`, { token })).status, 404)
  assert.equal((await remove(owner, organizationId)).status, 404)
  assert.deepEqual(await auditOf(organizationId, 'organization.deleted'), [owner.id])
})

test('an organization with something left is refused, and the refusal says what', async () => {
  const { owner, organizationId, keyOf } = await newOrganization()
  const key = await keyOf(owner)
  const { body: machine } = await key.call('POST', '/v1/machines', {})
  const asked = { machine_id: machine.id, name: 'kept' }
  const { body: snapshot } = await key.call('POST', '/v1/snapshots', asked)
  const { body: template } = await key.call('POST', '/v1/templates', { name: 'small' })
  await key.call('POST', `/v1/machines/${machine.id}/stop?wait=20`)
  const whole = /still has 1 machine, 2 snapshots and 1 template: delete them first/
  assertRefused(await remove(owner, organizationId), 'conflict', whole)

  const left = { machine, snapshot, template }
  await key.call('DELETE', `/v1/templates/${left.template.id}`)
  await key.call('DELETE', `/v1/machines/${machine.id}`)
  await gone({ ...server, call: key.call }, machine.id)
  assertRefused(await remove(owner, organizationId), 'conflict', /still has 2 snapshots: delete/)
  const { body: snapshots } = await key.call('GET', '/v1/snapshots')
  for (const { id } of snapshots.data) await key.call('DELETE', `/v1/snapshots/${id}`)
  assert.equal((await remove(owner, organizationId)).status, 204)
})

test('only an owner deletes an organization, and not their only one', async () => {
  const { owner, organizationId } = await newOrganization()
  const admin = await server.signUp()
  await join(admin, organizationId, 'admin')
  assertRefused(await remove(admin, organizationId), 'permission_denied', /only an owner can/)
  assert.equal((await remove(await server.signUp(), organizationId)).status, 404)
  assertRefused(
    await server.call('DELETE', `/v1/organizations/${organizationId}`),
    'permission_denied',
    /signed in with a browser/,
  )
  const lonely = await server.signUp()
  const only = await remove(lonely, lonely.personalId)
  assertRefused(only, 'conflict', /only organization: delete your account instead/)
  assert.equal((await remove(owner, organizationId)).status, 204)
})

test('a machine that is created as its organization is deleted: one of them is refused', async () => {
  for (const order of [0, 1]) {
    const { owner, organizationId, keyOf } = await newOrganization()
    const key = await keyOf(owner)
    const calls = [
      () => key.call('POST', '/v1/machines', { start: false }),
      () => remove(owner, organizationId),
    ]
    const hold = holdOrganization(organizationId)
    const answers = await collide(db, hold, order ? calls.toReversed() : calls)
    const [created, deleted] = order ? answers.toReversed() : answers
    if (created!.status === 201) assertRefused(deleted!, 'conflict', /1 machine/)
    else assert.deepEqual([created!.status, deleted!.status], [404, 204])
  }
})

test('everything of a deleted account stops working within a second', async () => {
  const { owner, organizationId } = await newOrganization()
  const person = await server.signUp({ name: 'Ada' })
  await join(person, organizationId, 'admin')
  await person.call('POST', '/v1/auth/switch-organization', { organization_id: organizationId })
  const other = await person.signInAgain()
  const scopes = ['machines:write', 'machines:control']
  const { body: created } = await person.call('POST', '/v1/api-keys', { name: 'mine', scopes })
  const bearer = { authorization: `Bearer ${created.secret}` }
  const byKey = (method: 'GET' | 'POST', path: string, body?: unknown) =>
    server.anonymous(method, path, body, bearer)
  const { body: machine } = await byKey('POST', '/v1/machines', {})
  const { body: session } = await byKey('POST', '/v1/sessions', { machine_id: machine.id })
  await byKey('POST', `/v1/machines/${machine.id}/input-lease`, { session_id: session.id })
  const newToken = async () => (await byKey('POST', '/v1/gateway-tokens')).body.token
  const token = await newToken()
  const streams = [await follow(created.secret), await redeem(await newToken())]

  const gone = await person.call('DELETE', '/v1/auth/me', { password: person.password })
  assert.equal(gone.status, 204)
  assert.equal(person.cookie(), null)
  assert.equal((await other.call('GET', '/v1/auth/me')).status, 401)
  assert.equal((await byKey('GET', '/v1/machines')).status, 401)
  const click = await byKey('POST', `/v1/machines/${machine.id}/mouse/click`, {})
  assert.equal(click.status, 401)
  for (const stream of streams) assert.equal((await stream.closed).code, 4401)
  await assert.rejects(redeem(token), { status: 401 })
  const { email, password } = person
  const login = await server.anonymous('POST', '/v1/auth/login', { email, password })
  assert.equal(login.status, 401)

  // What they made stays with the organization.
  await owner.call('POST', '/v1/auth/switch-organization', { organization_id: organizationId })
  assert.equal((await owner.call('GET', `/v1/machines/${machine.id}`)).status, 200)
  const { body: keys } = await owner.call('GET', '/v1/api-keys')
  assert.notEqual(keys.data[0].revoked_at, null)
  const { body: members } = await owner.call('GET', '/v1/members')
  assert.equal(members.data.length, 1)
  assert.deepEqual(await auditOf(organizationId, 'user.deleted'), [person.id])
  assert.deepEqual(await auditOf(person.personalId, 'organization.deleted'), [person.id])
  const user = await db
    .selectFrom('users')
    .selectAll()
    .where('id', '=', person.id)
    .executeTakeFirstOrThrow()
  assert.ok(!JSON.stringify(user).includes(email) && !JSON.stringify(user).includes('Ada'))
  const again = await server.signUp({ email })
  assert.notEqual(again.id, person.id)
})

test('an account that others depend on, or that has something left, is refused with every reason', async () => {
  const { owner, organizationId, keyOf } = await newOrganization()
  const colleague = await server.signUp()
  const membership = await join(colleague, organizationId, 'member')
  const { body: other } = await owner.call('POST', '/v1/organizations', { name: 'Alone' })
  await owner.call('POST', '/v1/auth/switch-organization', { organization_id: other.id })
  const { body: template } = await owner.call('POST', '/v1/templates', { name: 'small' })
  const password = { password: owner.password }

  const refused = await owner.call('DELETE', '/v1/auth/me', password)
  assertRefused(refused, 'conflict', /cannot be deleted yet/)
  const { message } = refused.body.error
  assert.match(message, new RegExp(`last owner of organization ${organizationId}`))
  assert.match(message, new RegExp(`organization ${other.id}, .*still has 1 template`))
  assert.equal((await owner.call('GET', '/v1/auth/me')).status, 200)

  await owner.call('DELETE', `/v1/templates/${template.id}`)
  await db
    .updateTable('users')
    .set({ disabled_at: sql`now()` })
    .where('id', '=', colleague.id)
    .execute()
  await owner.call('POST', '/v1/auth/switch-organization', { organization_id: organizationId })
  await owner.call('PATCH', `/v1/members/${membership}`, { role: 'owner' })
  // A disabled account cannot act as the owner.
  assertRefused(await owner.call('DELETE', '/v1/auth/me', password), 'conflict', /last owner/)
  await db.updateTable('users').set({ disabled_at: null }).where('id', '=', colleague.id).execute()
  const key = await keyOf(owner)
  assert.equal((await owner.call('DELETE', '/v1/auth/me', password)).status, 204)
  assert.equal((await key.call('GET', '/v1/machines')).status, 401)
  const { body: me } = await colleague.call('GET', '/v1/auth/me')
  assert.equal(me.organizations.length, 2)
})

test('an account is deleted with its password alone, which cannot be guessed', async () => {
  const person = await server.signUp()
  const wrong = { password: 'wrong horse battery' }
  for (let attempt = 0; attempt < 10; attempt++) {
    const refused = await person.call('DELETE', '/v1/auth/me', wrong)
    assertRefused(refused, 'permission_denied', /password is wrong/)
  }
  const right = { password: person.password }
  assert.equal((await person.call('DELETE', '/v1/auth/me', right)).status, 429)
  assert.equal((await person.call('GET', '/v1/auth/me')).status, 200)
  const byKey = await server.call('DELETE', '/v1/auth/me', right)
  assertRefused(byKey, 'permission_denied', /signed in with a browser/)
})

test('an account that is deleted twice at once, or as it joins an organization, is gone', async () => {
  const twice = await server.signUp()
  const holdUser = (tx: Tx) =>
    sql`select from users where id = ${twice.id} for no key update`.execute(tx)
  const remove = () => twice.call('DELETE', '/v1/auth/me', { password: twice.password })
  const answers = await collide(db, holdUser, [remove, remove])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [204, 404])

  for (const order of [0, 1]) {
    const { owner, organizationId } = await newOrganization()
    const person = await server.signUp()
    await owner.call('POST', '/v1/auth/switch-organization', { organization_id: organizationId })
    const invited = await owner.call('POST', '/v1/invitations', { email: person.email })
    const token = new URL(invited.body.accept_url).hash.slice('#token='.length)
    const calls = [
      () => person.call('POST', '/v1/invitations/accept', { token }),
      () => person.call('DELETE', '/v1/auth/me', { password: person.password }),
    ]
    const hold = (tx: Tx) =>
      sql`select from users where id = ${person.id} for no key update`.execute(tx)
    const raced = await collide(db, hold, order ? calls.toReversed() : calls)
    const [, deleted] = order ? raced.toReversed() : raced
    assert.equal(deleted!.status, 204)
    const left = await db
      .selectFrom('memberships')
      .selectAll()
      .where('user_id', '=', person.id)
      .execute()
    assert.deepEqual(left, [])
  }
})

/** An organization that its owner acts in, beside their personal one. */
async function newOrganization() {
  const owner = await server.signUp()
  const { body } = await owner.call('POST', '/v1/organizations', { name: 'Engines' })
  const organizationId = body.id
  await givePlan(db, { planId: 'startup' }, organizationId)
  await owner.call('POST', '/v1/auth/switch-organization', { organization_id: organizationId })
  const keyOf = ({ id: userId }: Person) => server.apiKey({ creator: { organizationId, userId } })
  return { owner, organizationId, keyOf }
}

async function join(person: Person, organizationId: string, role: Role): Promise<MembershipId> {
  const id = newId('mem')
  const membership = { id, organization_id: organizationId, user_id: person.id, role } as never
  await db.insertInto('memberships').values(membership).execute()
  return id
}

function remove(person: Person, organizationId: string) {
  return person.call('DELETE', `/v1/organizations/${organizationId}`)
}

function follow(secret: string) {
  return gateway.connect('/v1/events', { headers: { authorization: `Bearer ${secret}` } })
}

function redeem(token: string) {
  return gateway.connect('/v1/events', { protocols: [`bearer.${token}`] })
}

/** Who did so, by the log of the organization. */
async function auditOf(organizationId: string, type: 'organization.deleted' | 'user.deleted') {
  const events = await db
    .selectFrom('audit_events')
    .select('actor_id')
    .where('organization_id', '=', organizationId as never)
    .where('type', '=', type)
    .where('outcome', '=', 'succeeded')
    .execute()
  return events.map(({ actor_id }) => actor_id)
}
