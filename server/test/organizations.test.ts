import type { MembershipId, Role } from '@computer/contract'
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import type { Actor } from '../src/actor.ts'
import type { Tx } from '../src/db/database.ts'
import { newId } from '../src/ids.ts'
import { addColleague, emailOf } from './colleague.ts'
import { collide, holdOrganization } from './forced-race.ts'
import { startTestServer, type Answer } from './harness.ts'
import { invitationCalls, tokenOf } from './invitation-calls.ts'
import { fiftyWithOneKey, loseAnswers } from './one-key.ts'

const server = await startTestServer({ after }, { worker: false })
const { db } = server.app
const { accept, invite } = invitationCalls(server)
const bearer = { authorization: 'Bearer of a test' }

test('the creator of an organization is its owner', async () => {
  const actor = await server.user('member')
  const { status, body } = await server.as(actor)('POST', '/v1/organizations', { name: 'Acme' })
  assert.equal(status, 201)
  assert.deepEqual(Object.keys(body).sort(), ['created_at', 'id', 'name', 'plan_id'])
  assert.deepEqual([body.name, body.plan_id], ['Acme', server.app.config.signupPlan])
  const members = await server.as({ ...actor, organizationId: body.id })('GET', '/v1/members')
  assert.deepEqual(
    members.body.data.map((member: { user: { id: string }; role: string }) => [
      member.user.id,
      member.role,
    ]),
    [[actor.userId, 'owner']],
  )
})

test('a name has 1 to 100 characters, and API keys cannot create organizations', async () => {
  const call = server.as(await server.user('owner'))
  for (const name of ['', 'x'.repeat(101), 'a\0b', undefined]) {
    assert.equal((await call('POST', '/v1/organizations', { name })).status, 400)
  }
  assert.equal((await call('POST', '/v1/organizations', { name: 'x'.repeat(100) })).status, 201)
  const { status, body } = await server.call('POST', '/v1/organizations', { name: 'Acme' })
  assert.deepEqual([status, body.error.code], [403, 'permission_denied'])
})

test('fifty concurrent creations with one key, and a repetition after a crash, create one organization', async () => {
  const call = server.as(await server.user('member'))
  const headers = { ...bearer, 'idempotency-key': randomUUID() }
  const create = () => call('POST', '/v1/organizations', { name: 'Once' }, headers)
  const before = await countOrganizations()
  const settled = await fiftyWithOneKey(create, 201)
  await loseAnswers(db)
  const again = await create()
  assert.deepEqual([again.status, again.body], [201, settled.body])
  assert.equal(again.headers['idempotent-replayed'], undefined)
  assert.equal(await countOrganizations(), before + 1)
  const { members } = await db
    .selectFrom('memberships')
    .select((eb) => eb.fn.countAll<number>().as('members'))
    .where('organization_id', '=', settled.body.id)
    .executeTakeFirstOrThrow()
  assert.equal(members, 1)
})

test('a user owns at most five organizations, however they came to own them', async () => {
  const actor = await server.user('member')
  const call = server.as(actor)
  const create = () => call('POST', '/v1/organizations', { name: 'Another' })
  for (let owned = 0; owned < 4; owned += 1) assert.equal((await create()).status, 201)
  const holdUser = (tx: Tx) =>
    sql`select from users where id = ${actor.userId} for no key update`.execute(tx)
  const last = await collide(db, holdUser, [create, create, create])
  assert.deepEqual(last.map(({ status }) => status).sort(), [201, 409, 409])
  assertFull(await create())

  const elsewhere = await server.user('owner', 'stranger')
  const { body: invitation } = await invite(elsewhere, await emailOf(server, actor), {
    role: 'owner',
  })
  assertFull(await accept(actor, tokenOf(invitation)))
  const other = await addMembership(elsewhere, actor)
  assertFull(await server.as(elsewhere)('PATCH', `/v1/members/${other}`, { role: 'owner' }))
  assert.equal((await organizationsOf(actor)).filter(({ role }) => role === 'owner').length, 5)

  // Handed over, it makes room.
  const owned = last.find(({ status }) => status === 201)!.body
  await addMembership({ organizationId: owned.id }, elsewhere, 'owner')
  assert.equal((await call('POST', `/v1/organizations/${owned.id}/leave`)).status, 204)
  const promoted = await server.as(elsewhere)('PATCH', `/v1/members/${other}`, { role: 'owner' })
  assert.equal(promoted.status, 200)
  assertFull(await create())
})

test('an operator may allow more organizations per user', async (t) => {
  const env = { COMPUTER_ORGANIZATIONS_PER_USER: '7' }
  const larger = await startTestServer(t, { env, worker: false })
  const { call } = await larger.signUp()
  const create = () => call('POST', '/v1/organizations', { name: 'Another' })
  // The personal one is the first.
  for (let owned = 1; owned < 7; owned += 1) assert.equal((await create()).status, 201)
  assertFull(await create())
})

test('a manager can rename only the organization they act in', async () => {
  const owner = await server.user('owner', 'stranger')
  const admin = await addColleague(server, owner, 'admin')
  const path = `/v1/organizations/${owner.organizationId}`
  const { status, body } = await server.as(admin)('PATCH', path, { name: 'New' })
  assert.deepEqual([status, body.id, body.name], [200, owner.organizationId, 'New'])

  const member = server.as(await addColleague(server, owner, 'member'))
  assert.equal((await member('PATCH', path, { name: 'Newer' })).status, 403)
  // The user owns it, but this session does not act in it.
  const elsewhere = await server.user('owner')
  const other = await server.as(elsewhere)('PATCH', path, { name: 'Newer' })
  assert.deepEqual([other.status, other.body.error.code], [404, 'not_found'])
  const own = await server.as(admin)('GET', '/v1/auth/me')
  assert.equal(own.body.organization.name, 'New')
})

test('leaving ends the membership, and the last owner cannot leave', async () => {
  const owner = await server.user('owner', 'stranger')
  const member = await addColleague(server, owner, 'member')
  const path = `/v1/organizations/${owner.organizationId}/leave`
  assert.equal((await server.as(member)('POST', path)).status, 204)
  assert.deepEqual(await membersOf(owner), [owner.userId])
  const again = await server.as(member)('POST', path)
  assert.deepEqual([again.status, again.body.error.code], [404, 'not_found'])

  const last = await server.as(owner)('POST', path)
  assert.deepEqual([last.status, last.body.error.code], [409, 'conflict'])
  assert.match(last.body.error.message, /last owner.*make another member an owner/)
  assert.deepEqual(await membersOf(owner), [owner.userId])
})

test('a user can also leave an organization that the session does not act in', async () => {
  const owner = await server.user('owner', 'stranger')
  const member = await addColleague(server, owner, 'member')
  const { organizationId } = await server.user('member')
  const call = server.as({ ...member, organizationId })
  assert.equal((await call('POST', `/v1/organizations/${owner.organizationId}/leave`)).status, 204)
  assert.deepEqual(await membersOf(owner), [owner.userId])
})

test('a user who leaves their last organization gets a personal one', async () => {
  const actor = await server.user('member')
  const leave = await server.as(actor)('POST', `/v1/organizations/${actor.organizationId}/leave`)
  assert.equal(leave.status, 204)
  const [home, ...others] = await organizationsOf(actor)
  assert.deepEqual(others, [])
  assert.deepEqual(
    [home!.name, home!.plan_id, home!.role],
    ["Somebody's organization", server.app.config.signupPlan, 'owner'],
  )

  const owner = await server.user('owner', 'stranger')
  const member = await addColleague(server, owner, 'member')
  await server.as(member)('POST', `/v1/organizations/${owner.organizationId}/leave`)
  assert.equal((await organizationsOf(member)).length, 1)
})

test('if two owners leave concurrently, one stays', async () => {
  const first = await server.user('owner', 'stranger')
  const second = await addColleague(server, first, 'owner')
  const path = `/v1/organizations/${first.organizationId}/leave`
  const answers = await collide(
    db,
    holdOrganization(first.organizationId),
    [first, second].map((actor) => () => server.as(actor)('POST', path)),
  )
  assert.deepEqual(answers.map(({ status }) => status).sort(), [204, 409])
  assert.equal((await membersOf(first)).length, 1)
})

test('a user who loses both organizations concurrently gets a personal one', async () => {
  const owners = [await server.user('owner', 'stranger'), await server.user('owner', 'stranger')]
  const member = await addColleague(server, owners[0]!, 'member')
  await db
    .updateTable('memberships')
    .set({ organization_id: owners[1]!.organizationId, role: 'member' })
    .where('user_id', '=', member.userId)
    .where('organization_id', '!=', member.organizationId)
    .execute()
  const memberships = await db
    .selectFrom('memberships')
    .select(['id', 'organization_id'])
    .where('user_id', '=', member.userId)
    .execute()
  const answers = await collide(
    db,
    (tx) => sql`select from users where id = ${member.userId} for no key update`.execute(tx),
    memberships.map(({ id, organization_id }) => () => {
      const owner = owners.find(({ organizationId }) => organizationId === organization_id)!
      return server.as(owner)('DELETE', `/v1/members/${id}`)
    }),
  )
  assert.deepEqual(
    answers.map(({ status }) => status),
    [204, 204],
  )
  assert.deepEqual(
    (await organizationsOf(member)).map(({ role }) => role),
    ['owner'],
  )
})

function assertFull({ status, body }: Answer): void {
  assert.deepEqual([status, body.error.code], [409, 'conflict'])
  assert.match(body.error.message, /may own \d organizations.*hand one over/)
}

async function addMembership(
  { organizationId }: Pick<Actor, 'organizationId'>,
  { userId }: Actor,
  role: Role = 'member',
): Promise<MembershipId> {
  const id = newId('mem')
  const membership = { id, organization_id: organizationId, user_id: userId, role }
  await db.insertInto('memberships').values(membership).execute()
  return id
}

async function membersOf(actor: Actor): Promise<string[]> {
  const { body } = await server.as(actor)('GET', '/v1/members')
  return body.data.map((member: { user: { id: string } }) => member.user.id)
}

async function organizationsOf(actor: Actor) {
  return db
    .selectFrom('memberships as m')
    .innerJoin('organizations as o', 'o.id', 'm.organization_id')
    .innerJoin('billing_periods as b', 'b.organization_id', 'o.id')
    .select(['o.name', 'b.plan_id', 'm.role'])
    .where('m.user_id', '=', actor.userId)
    .execute()
}

async function countOrganizations(): Promise<number> {
  const { count } = await db
    .selectFrom('organizations')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}
