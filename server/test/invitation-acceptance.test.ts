import type { OrganizationId } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import type { Actor } from '../src/actor.ts'
import { emailOf, membershipOf } from './colleague.ts'
import { collide, holdOrganization } from './forced-race.ts'
import { startTestServer, type Answer } from './harness.ts'
import { invitationCalls, tokenOf } from './invitation-calls.ts'

const server = await startTestServer({ after }, { worker: false })
const { db } = server.app
const { invite, list, lookUp, revoke, accept, expire, smallOwner } = invitationCalls(server)

test('accepting creates a membership and switches the session', async () => {
  const owner = await server.user('owner', 'stranger')
  const person = await server.user('member')
  const email = await emailOf(server, person)
  const { body: invitation } = await invite(owner, email, { role: 'admin' })
  const { status, body } = await accept(person, tokenOf(invitation))
  assert.equal(status, 200)
  assert.deepEqual(body, {
    id: await membershipOf(server, { ...person, organizationId: owner.organizationId }),
    organization_id: owner.organizationId,
    user: { id: person.userId, email, name: 'Somebody' },
    role: 'admin',
    created_at: body.created_at,
  })
  assert.equal(await organizationOfSession(person), owner.organizationId)
  assert.deepEqual(await statesOf(owner), ['accepted'])

  const again = await accept(person, tokenOf(invitation))
  assert.deepEqual([again.status, again.body.error.code], [409, 'conflict'])
  assert.match(again.body.error.message, /accepted/)
})

test('a session acts in the joined organization until its user is removed', async () => {
  const owner = await server.signUp({ name: 'Grace' })
  const person = await server.signUp({ name: 'Ada' })
  const { body: invitation } = await owner.call('POST', '/v1/invitations', {
    email: person.email.toUpperCase(),
    role: 'admin',
  })
  const token = tokenOf(invitation)
  assert.equal((await person.call('POST', '/v1/invitations/accept', { token })).status, 200)
  const { body: there } = await person.call('GET', '/v1/auth/me')
  assert.deepEqual([there.organization.name, there.role], ["Grace's organization", 'admin'])
  assert.equal(there.organizations.length, 2)

  const { body: members } = await owner.call('GET', '/v1/members')
  const member = members.data.find(({ user }: { user: { id: string } }) => user.id === person.id)
  assert.equal((await owner.call('DELETE', `/v1/members/${member.id}`)).status, 204)
  const { body: home } = await person.call('GET', '/v1/auth/me')
  assert.deepEqual([home.organization.id, home.role], [person.personalId, 'owner'])
})

test('only the user with the invited email address can accept', async () => {
  const owner = await server.user('owner', 'stranger')
  const person = await server.user('member')
  const thief = await server.user('member')
  const { body: invitation } = await invite(owner, await emailOf(server, person))
  const stolen = await accept(thief, tokenOf(invitation))
  assert.deepEqual([stolen.status, stolen.body.error.code], [403, 'permission_denied'])
  assert.match(stolen.body.error.message, /sign in with the account of that address/)
  assert.ok(!stolen.bytes.toString().includes('@'))
  // Its state is not revealed either.
  await revoke(owner, invitation.id)
  const later = await accept(thief, tokenOf(invitation))
  assert.deepEqual(later.body.error.message, stolen.body.error.message)

  const unknown = await accept(person, `${tokenOf(invitation)}x`)
  assert.deepEqual([unknown.status, unknown.body.error.code], [404, 'not_found'])
  const key = await server.call('POST', '/v1/invitations/accept', { token: tokenOf(invitation) })
  assert.deepEqual([key.status, key.body.error.code], [403, 'permission_denied'])
  assert.equal((await membersOf(owner)).length, 1)
})

test('whoever has the link learns what the invitation is for, and its state', async () => {
  const owner = await server.user('owner', 'stranger')
  const person = await server.user('member')
  const email = await emailOf(server, person)
  const invitations = await Promise.all(
    [email, 'revoked@example.com', 'expired@example.com'].map((to) => invite(owner, to)),
  )
  const [accepted, revoked, expired] = invitations.map(({ body }) => body)
  const first = await lookUp(tokenOf(accepted))
  assert.equal(first.status, 200)
  assert.deepEqual(first.body, {
    organization: { name: 'Strangers' },
    email,
    role: 'member',
    invited_by: { name: 'Somebody' },
    state: 'pending',
    expires_at: accepted.expires_at,
  })
  await accept(person, tokenOf(accepted))
  await revoke(owner, revoked.id)
  await expire(expired.id)
  const states = await Promise.all(
    [accepted, revoked, expired].map(async (one) => (await lookUp(tokenOf(one))).body.state),
  )
  assert.deepEqual(states, ['accepted', 'revoked', 'expired'])

  const token = tokenOf(accepted)
  for (const wrong of [`${token}x`, token.slice(0, -1), 'computer_invitation_', 'x', accepted.id]) {
    const { status, body } = await lookUp(wrong)
    assert.deepEqual([status, body.error.code], [404, 'not_found'], wrong)
  }
})

test('accepting an invitation that is not pending is refused with its state', async () => {
  const owner = await server.user('owner', 'stranger')
  const person = await server.user('member')
  const email = await emailOf(server, person)
  const ends = { revoked: (id: string) => revoke(owner, id), expired: expire }
  for (const [state, end] of Object.entries(ends)) {
    const { body: invitation } = await invite(owner, email)
    await end(invitation.id)
    const { status, body } = await accept(person, tokenOf(invitation))
    assert.deepEqual([status, body.error.code], [409, 'conflict'])
    assert.match(body.error.message, new RegExp(state))
  }
  const { body: invitation } = await invite(owner, email)
  await db
    .insertInto('memberships')
    .values({
      id: `mem_${'0'.repeat(26)}`,
      organization_id: owner.organizationId,
      user_id: person.userId,
      role: 'member',
    })
    .execute()
  const member = await accept(person, tokenOf(invitation))
  assert.equal(member.status, 409)
  assert.match(member.body.error.message, /already a member/)
})

test('a concurrent acceptance and invitation do not exceed the plan', async () => {
  const owner = await smallOwner()
  const person = await server.user('member')
  const { body: invitation } = await invite(owner, await emailOf(server, person))
  const [accepted, invited] = await atOnce(owner.organizationId, [
    () => accept(person, tokenOf(invitation)),
    () => invite(owner, 'ada@example.com'),
  ])
  assert.deepEqual([accepted!.status, invited!.status], [200, 402])
})

test('of many concurrent acceptances of one invitation, one succeeds', async () => {
  const owner = await server.user('owner', 'stranger')
  const person = await server.user('member')
  const { body: invitation } = await invite(owner, await emailOf(server, person))
  const answers = await atOnce(
    owner.organizationId,
    Array.from({ length: 5 }, () => () => accept(person, tokenOf(invitation))),
  )
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409, 409, 409])
  for (const { status, body } of answers) {
    if (status === 409) assert.match(body.error.message, /already accepted/)
  }
  assert.equal((await membersOf(owner)).length, 2)
})

test('a concurrent acceptance and revocation end in one of the two states', async () => {
  const owner = await server.user('owner', 'stranger')
  const person = await server.user('member')
  const { body: invitation } = await invite(owner, await emailOf(server, person))
  const [accepted, revoked] = await atOnce(owner.organizationId, [
    () => accept(person, tokenOf(invitation)),
    () => revoke(owner, invitation.id),
  ])
  const outcome = [accepted!.status, revoked!.status].join()
  assert.ok(['200,409', '409,200'].includes(outcome), outcome)
  assert.deepEqual(await statesOf(owner), [accepted!.status === 200 ? 'accepted' : 'revoked'])
  assert.equal((await membersOf(owner)).length, accepted!.status === 200 ? 2 : 1)
})

test('an invitation that expires while its acceptance waits for a lock is refused', async () => {
  const owner = await server.user('owner', 'stranger')
  const person = await server.user('member')
  const { body: invitation } = await invite(owner, await emailOf(server, person))
  const [answer] = await collide(
    db,
    holdOrganization(owner.organizationId),
    [() => accept(person, tokenOf(invitation))],
    (tx) =>
      tx
        .updateTable('invitations')
        .set({ expires_at: sql`clock_timestamp()` })
        .where('id', '=', invitation.id)
        .execute(),
  )
  assert.equal(answer!.status, 409)
  assert.match(answer!.body.error.message, /expired/)
})

function atOnce(organizationId: OrganizationId, calls: (() => Promise<Answer>)[]) {
  return collide(db, holdOrganization(organizationId), calls)
}

async function statesOf(actor: Actor): Promise<string[]> {
  const lists = await Promise.all(
    ['pending', 'accepted', 'revoked', 'expired'].map((state) => list(actor, `state=${state}`)),
  )
  return lists.flatMap(({ body }) => body.data.map(({ state }: { state: string }) => state))
}

async function membersOf(actor: Actor): Promise<unknown[]> {
  return (await server.as(actor)('GET', '/v1/members')).body.data
}

async function organizationOfSession(actor: Actor): Promise<OrganizationId> {
  const { organization_id } = await db
    .selectFrom('auth_sessions')
    .select('organization_id')
    .where('id', '=', actor.authSessionId!)
    .executeTakeFirstOrThrow()
  return organization_id
}
