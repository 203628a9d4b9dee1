import { Role } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import type { Actor } from '../src/actor.ts'
import { addColleague, emailOf, membershipOf } from './colleague.ts'
import { collide, holdOrganization } from './forced-race.ts'
import { startTestServer } from './harness.ts'
import { eventually } from './settled.ts'

const server = await startTestServer({ after })
const { db } = server.app

test('every member lists all members, newest first, in pages', async () => {
  const owner = await server.user('owner', 'stranger')
  const people = [owner]
  for (const role of ['admin', 'member', 'member'] as const) {
    people.unshift(await addColleague(server, owner, role))
  }
  const seen: unknown[] = []
  let cursor = ''
  for (;;) {
    const { status, body } = await server.as(people[0]!)('GET', `/v1/members?limit=2${cursor}`)
    assert.equal(status, 200)
    seen.push(...body.data)
    if (!body.has_more) break
    // New members do not shift the pages.
    await addColleague(server, owner, 'member')
    cursor = `&cursor=${body.next_cursor}`
  }
  const expected = await Promise.all(
    people.map(async (actor) => ({
      id: await membershipOf(server, actor),
      user: { id: actor.userId, email: await emailOf(server, actor), name: 'Somebody' },
      role: actor.role,
    })),
  )
  assert.deepEqual(
    seen.map((member) => ({ ...(member as object), created_at: undefined })),
    expected.map((member) => ({ ...member, created_at: undefined })),
  )
})

test('owners change every role, admins neither change nor appoint owners, members change none', async () => {
  for (const doer of Role.options) {
    const owner = await server.user('owner', 'stranger')
    const call = server.as(await addColleague(server, owner, doer))
    for (const from of Role.options) {
      for (const to of Role.options) {
        const id = await membershipOf(server, await addColleague(server, owner, from))
        const { status, body } = await call('PATCH', `/v1/members/${id}`, { role: to })
        const touchesOwner = from !== to && (from === 'owner' || to === 'owner')
        const may = doer === 'owner' || (doer === 'admin' && !touchesOwner)
        assert.equal(status, may ? 200 : 403, `${doer}: ${from} to ${to}`)
        if (may) assert.deepEqual([body.id, body.role], [id, to])
        else assert.equal(body.error.code, 'permission_denied')
        assert.equal(await roleOf(id), may ? to : from)
      }
      const id = await membershipOf(server, await addColleague(server, owner, from))
      const removal = await call('DELETE', `/v1/members/${id}`)
      const may = doer === 'owner' || (doer === 'admin' && from !== 'owner')
      assert.equal(removal.status, may ? 204 : 403, `${doer} removes ${from}`)
      assert.equal(await roleOf(id), may ? undefined : from)
    }
  }
})

test('the last owner cannot be demoted or removed', async () => {
  const owner = await server.user('owner', 'stranger')
  const call = server.as(owner)
  const id = await membershipOf(server, owner)
  const demotion = await call('PATCH', `/v1/members/${id}`, { role: 'admin' })
  const removal = await call('DELETE', `/v1/members/${id}`)
  for (const { status, body } of [demotion, removal]) {
    assert.deepEqual([status, body.error.code], [409, 'conflict'])
    assert.match(body.error.message, /last owner.*make another member an owner/)
  }
  assert.equal((await call('PATCH', `/v1/members/${id}`, { role: 'owner' })).status, 200)

  const second = await addColleague(server, owner, 'member')
  const promote = await call('PATCH', `/v1/members/${await membershipOf(server, second)}`, {
    role: 'owner',
  })
  assert.equal(promote.status, 200)
  assert.equal((await call('PATCH', `/v1/members/${id}`, { role: 'member' })).status, 200)
})

test('an owner whose account is disabled does not count as an owner', async () => {
  const owner = await server.user('owner', 'stranger')
  const disabled = await addColleague(server, owner, 'owner')
  await db
    .updateTable('users')
    .set({ disabled_at: sql`now()` })
    .where('id', '=', disabled.userId)
    .execute()
  const call = server.as(owner)
  const path = `/v1/members/${await membershipOf(server, owner)}`
  assert.equal((await call('PATCH', path, { role: 'member' })).status, 409)
  assert.equal((await call('DELETE', path)).status, 409)
  const other = `/v1/members/${await membershipOf(server, disabled)}`
  assert.equal((await call('DELETE', other)).status, 204)
})

test('if two owners demote or remove each other concurrently, one stays owner', async () => {
  for (const method of ['PATCH', 'DELETE']) {
    const first = await server.user('owner', 'stranger')
    const second = await addColleague(server, first, 'owner')
    const pairs = [
      [first, second],
      [second, first],
    ] as const
    const paths = await Promise.all(
      pairs.map(async ([, other]) => `/v1/members/${await membershipOf(server, other)}`),
    )
    const answers = await collide(
      db,
      holdOrganization(first.organizationId),
      pairs.map(
        ([actor], index) =>
          () =>
            server.as(actor)(
              method,
              paths[index]!,
              method === 'PATCH' ? { role: 'member' } : undefined,
            ),
      ),
    )
    const succeeded = method === 'PATCH' ? 200 : 204
    assert.deepEqual(answers.map(({ status }) => status).sort(), [succeeded, 403])
    const loser = answers.find(({ status }) => status === 403)!
    assert.equal(loser.body.error.code, 'permission_denied')
    const owners = await db
      .selectFrom('memberships')
      .select('id')
      .where('organization_id', '=', first.organizationId)
      .where('role', '=', 'owner')
      .execute()
    assert.equal(owners.length, 1)
  }
})

test('an admin who is demoted while waiting for the lock cannot remove members', async () => {
  const owner = await server.user('owner', 'stranger')
  const admin = await addColleague(server, owner, 'admin')
  const id = await membershipOf(server, await addColleague(server, owner, 'member'))
  const adminId = await membershipOf(server, admin)
  const [answer] = await collide(
    db,
    holdOrganization(owner.organizationId),
    [() => server.as(admin)('DELETE', `/v1/members/${id}`)],
    (tx) =>
      tx.updateTable('memberships').set({ role: 'member' }).where('id', '=', adminId).execute(),
  )
  assert.deepEqual([answer!.status, answer!.body.error.code], [403, 'permission_denied'])
  assert.equal(await roleOf(id), 'member')
})

test("a removed member's key is refused, and they cannot be removed again", async () => {
  const owner = await server.user('owner')
  const member = await server.user('member')
  const key = await server.apiKey({ creator: member })
  assert.equal((await key.call('GET', '/v1/machines')).status, 200)
  const path = `/v1/members/${await membershipOf(server, member)}`
  assert.equal((await server.as(owner)('DELETE', path)).status, 204)
  // The principal of a key is cached for less than a second.
  await eventually(async () => (await key.call('GET', '/v1/machines')).status === 401 || undefined)
  assert.equal((await server.as(owner)('DELETE', path)).status, 404)
})

test('a user removed from their last organization gets a personal one', async () => {
  const owner = await server.user('owner')
  const member = await server.user('admin')
  await server.as(owner)('DELETE', `/v1/members/${await membershipOf(server, member)}`)
  const homes = await db
    .selectFrom('memberships as m')
    .innerJoin('organizations as o', 'o.id', 'm.organization_id')
    .innerJoin('billing_periods as b', 'b.organization_id', 'o.id')
    .select(['o.id', 'b.plan_id', 'm.role'])
    .where('m.user_id', '=', member.userId)
    .execute()
  const { signupPlan } = server.app.config
  assert.deepEqual(
    homes.map(({ plan_id, role }) => [plan_id, role]),
    [[signupPlan, 'owner']],
  )
  // The new organization's log does not name who removed them.
  const there: Actor = { ...member, organizationId: homes[0]!.id, role: 'owner' }
  const { body } = await server.as(there)('GET', '/v1/audit-events')
  assert.deepEqual(
    body.data.map(({ type, actor }: { type: string; actor: unknown }) => [type, actor]),
    [['organization.created', null]],
  )
})

async function roleOf(id: string): Promise<Role | undefined> {
  const row = await db
    .selectFrom('memberships')
    .select('role')
    .where('id', '=', id as `mem_${string}`)
    .executeTakeFirst()
  return row?.role
}
