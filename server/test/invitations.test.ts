import { Role } from '@computer/contract'
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { addColleague, emailOf, membershipOf } from './colleague.ts'
import { collide, holdOrganization } from './forced-race.ts'
import { startTestServer } from './harness.ts'
import { fiftyWithOneKey, loseAnswers } from './one-key.ts'
import { invitationCalls, tokenOf } from './invitation-calls.ts'

const server = await startTestServer({ after }, { worker: false })
const { db, config } = server.app
const { invite, list, revoke, accept, expire, smallOwner } = invitationCalls(server)
const bearer = { authorization: 'Bearer of a test' }
const week = 7 * 24 * 60 * 60 * 1000

test('an invitation expires after a week, and its link is returned once and not stored', async () => {
  const owner = await server.user('owner', 'stranger')
  const { status, body } = await invite(owner, 'Ada.L@Example.com')
  assert.equal(status, 201)
  const { accept_url, ...invitation } = body
  assert.deepEqual(invitation, {
    id: body.id,
    organization_id: owner.organizationId,
    email: 'ada.l@example.com',
    role: 'member',
    state: 'pending',
    invited_by: { id: owner.userId, name: 'Somebody' },
    created_at: body.created_at,
    expires_at: body.expires_at,
  })
  assert.equal(Date.parse(body.expires_at) - Date.parse(body.created_at), week)
  const [page, token] = accept_url.split('#token=')
  assert.equal(page, `${config.dashboardUrl}/accept-invitation`)
  assert.match(token, /[\w-]{43}$/)
  assert.deepEqual((await list(owner)).body.data, [invitation])

  const { rows } = await sql<{ row: string }>`select i::text || encode(token_hash, 'escape') as row
    from invitations i union all select m::text from mails m`.execute(db)
  assert.ok(rows.every(({ row }) => !row.includes(token)))
  assert.ok(!rows.some(({ row }) => row.includes(Buffer.from(token).toString('hex'))))
})

test('managers can invite, and only owners can invite owners', async () => {
  const owner = await server.user('owner', 'stranger')
  for (const doer of Role.options) {
    const actor = await addColleague(server, owner, doer)
    for (const role of Role.options) {
      const { status, body } = await invite(actor, `${randomUUID()}@example.com`, { role })
      const may = doer === 'owner' || (doer === 'admin' && role !== 'owner')
      assert.equal(status, may ? 201 : 403, `${doer} invites ${role}`)
      if (may) assert.equal(body.role, role)
      else assert.equal(body.error.code, 'permission_denied')
    }
  }
  for (const email of ['', 'ada', 'a b@example.com', 'a@example.com\r\nbcc: b@example.com']) {
    assert.equal((await invite(owner, email)).status, 400, email)
  }
})

test('an address with a pending invitation or a membership cannot be invited', async () => {
  const owner = await server.user('owner', 'stranger')
  const email = await emailOf(server, await addColleague(server, owner, 'member'))
  const member = await invite(owner, email.toUpperCase())
  assert.deepEqual([member.status, member.body.error.code], [409, 'conflict'])
  assert.match(member.body.error.message, /a member/)

  const first = await invite(owner, 'ada@example.com')
  const second = await invite(owner, 'ADA@example.com')
  assert.equal(second.status, 409)
  assert.match(second.body.error.message, new RegExp(`pending.*${first.body.id}`))
  await revoke(owner, first.body.id)
  const third = await invite(owner, 'ada@example.com')
  assert.equal(third.status, 201)
  await expire(third.body.id)
  assert.equal((await invite(owner, 'ada@example.com')).status, 201)
  // Another organization can invite the same address.
  const stranger = await server.user('owner', 'stranger')
  assert.equal((await invite(stranger, 'ada@example.com')).status, 201)
})

test('an invitation is revoked once, and an accepted one cannot be revoked', async () => {
  const owner = await server.user('owner', 'stranger')
  const { body } = await invite(owner, 'ada@example.com')
  const member = await addColleague(server, owner, 'member')
  assert.equal((await revoke(member, body.id)).status, 403)
  const first = await revoke(owner, body.id)
  assert.deepEqual([first.status, first.body.state], [200, 'revoked'])
  const second = await revoke(owner, body.id)
  assert.deepEqual([second.status, second.body], [200, first.body])

  const { body: old } = await invite(owner, 'ada@example.com')
  await expire(old.id)
  assert.equal((await revoke(owner, old.id)).body.state, 'expired')

  const person = await server.user('member')
  const { body: taken } = await invite(owner, await emailOf(server, person))
  await accept(person, tokenOf(taken))
  const third = await revoke(owner, taken.id)
  assert.deepEqual([third.status, third.body.error.code], [409, 'conflict'])
  assert.match(third.body.error.message, /accepted; remove the member/)

  const { data } = (await server.as(owner)('GET', '/v1/audit-events?type=invitation.revoked')).body
  assert.deepEqual(
    data.map((event: { outcome: string; target: { id: string } | null }) => [
      event.outcome,
      event.target?.id,
    ]),
    [
      ['failed', undefined],
      ['succeeded', body.id],
      ['denied', undefined],
    ],
  )
})

test('invitations are listed by state, newest first, in pages', async () => {
  const owner = await server.user('owner', 'stranger')
  const ids: Record<string, string[]> = { pending: [], revoked: [], expired: [] }
  for (let index = 0; index < 6; index++) {
    const { body } = await invite(owner, `person-${index}@example.com`)
    const state = ['pending', 'revoked', 'expired'][index % 3]!
    if (state === 'revoked') await revoke(owner, body.id)
    if (state === 'expired') await expire(body.id)
    ids[state]!.unshift(body.id)
  }
  const member = await addColleague(server, owner, 'member')
  for (const [state, expected] of Object.entries(ids)) {
    const first = (await list(member, `state=${state}&limit=1`)).body
    const second = (await list(member, `state=${state}&limit=1&cursor=${first.next_cursor}`)).body
    assert.deepEqual([first.has_more, second.has_more, second.next_cursor], [true, false, null])
    const seen = [...first.data, ...second.data]
    assert.deepEqual(
      seen.map(({ id }) => id),
      expected,
    )
    assert.ok(seen.every((invitation) => invitation.state === state && !invitation.accept_url))
  }
  assert.deepEqual((await list(member)).body, (await list(member, 'state=pending')).body)
  assert.equal((await list(member, 'state=lost')).status, 400)
})

test('members and pending invitations count against the plan together', async () => {
  const owner = await smallOwner()
  const person = await server.user('member')
  const { body: first } = await invite(owner, await emailOf(server, person))
  const full = await invite(owner, 'ada@example.com')
  assert.deepEqual([full.status, full.body.error.code], [402, 'quota_exceeded'])
  assert.deepEqual(full.body.error.quota, {
    limit: 'members',
    current: 2,
    maximum: 2,
    plan_id: 'free',
    upgrade_url: `${server.app.config.dashboardUrl}/billing`,
  })
  await revoke(owner, first.id)
  const { body: second } = await invite(owner, await emailOf(server, person))
  await expire(second.id)
  const { body: third } = await invite(owner, await emailOf(server, person))
  // The place was reserved by the invitation.
  assert.equal((await accept(person, tokenOf(third))).status, 200)
  assert.equal((await invite(owner, 'ada@example.com')).status, 402)
  const id = await membershipOf(server, { ...person, organizationId: owner.organizationId })
  assert.equal((await server.as(owner)('DELETE', `/v1/members/${id}`)).status, 204)
  assert.equal((await invite(owner, 'ada@example.com')).status, 201)
})

test('of two concurrent invitations for the last place, one succeeds', async () => {
  const owner = await smallOwner()
  const answers = await collide(db, holdOrganization(owner.organizationId), [
    () => invite(owner, 'ada@example.com'),
    () => invite(owner, 'grace@example.com'),
  ])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 402])
  assert.equal((await list(owner)).body.data.length, 1)
})

test('fifty concurrent invitations with one key create one', async () => {
  const owner = await server.user('owner', 'stranger')
  const headers = { ...bearer, 'idempotency-key': randomUUID() }
  const create = () => invite(owner, 'ada@example.com', {}, headers)
  await fiftyWithOneKey(create, 201)
  assert.equal((await list(owner)).body.data.length, 1)
})

test('an invitation whose response was lost gets a new link', async () => {
  const owner = await server.user('owner', 'stranger')
  const person = await server.user('member')
  const email = await emailOf(server, person)
  const headers = { ...bearer, 'idempotency-key': randomUUID() }
  const create = () => invite(owner, email, {}, headers)
  const { body: first } = await create()
  await loseAnswers(db)
  const { status, body: second } = await create()
  assert.equal(status, 201)
  assert.deepEqual({ ...second, accept_url: '' }, { ...first, accept_url: '' })
  assert.notEqual(second.accept_url, first.accept_url)
  assert.equal((await accept(person, tokenOf(first))).status, 404)
  assert.equal((await accept(person, tokenOf(second))).status, 200)
  const { body } = await server.as(owner)('GET', '/v1/audit-events?type=invitation.created')
  assert.equal(body.data.length, 1)
})
