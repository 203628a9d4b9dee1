import type { AuditEventType } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import type { Actor } from '../src/actor.ts'
import { noteAudit } from '../src/domain/accounts/audit-events.ts'
import { addColleague, emailOf, membershipOf } from './colleague.ts'
import { startTestServer } from './harness.ts'
import { invitationCalls, tokenOf } from './invitation-calls.ts'

const server = await startTestServer({ after }, { worker: false })
const { db } = server.app
const { invite, revoke, accept } = invitationCalls(server)
const address = '203.0.113.7'

type Event = {
  type: string
  actor: { type: string; id: string; name: string } | null
  target: { type: string; id: string; name: string } | null
  outcome: string
  address: string | null
  message: string | null
}

test('every change of permissions is recorded with actor, target and address', async () => {
  const owner = { ...(await server.user('owner', 'stranger')), address }
  const call = server.as(owner)
  const person = { ...(await server.user('member')), address: '203.0.113.8' }
  const email = await emailOf(server, person)
  const home = { type: 'organization', id: owner.organizationId }

  await call('PATCH', `/v1/organizations/${owner.organizationId}`, { name: 'Acme' })
  const { body: first } = await invite(owner, 'ada@example.com', { role: 'admin' })
  await revoke(owner, first.id)
  const { body: second } = await invite(owner, email)
  await accept(person, tokenOf(second))
  const id = await membershipOf(server, { ...person, organizationId: owner.organizationId })
  await call('PATCH', `/v1/members/${id}`, { role: 'admin' })
  await call('DELETE', `/v1/members/${id}`)
  const newKey = { name: 'CI', scopes: ['machines:read'] }
  const { body: key } = await call('POST', '/v1/api-keys', newKey)
  await call('DELETE', `/v1/api-keys/${key.id}`)

  const by = (actor: Actor) => ({
    actor: { type: 'user', id: actor.userId, name: 'Somebody' },
    address: actor.address,
    outcome: 'succeeded',
  })
  const invited = { type: 'invitation', id: second.id, name: email }
  const who = { type: 'user', id: person.userId, name: email }
  const apiKey = { type: 'api_key', id: key.id, name: 'CI' }
  const expected = [
    ['organization.renamed', by(owner), { ...home, name: 'Acme' }, 'it was Strangers'],
    ['invitation.created', by(owner), { ...invited, id: first.id, name: first.email }, 'as admin'],
    ['invitation.revoked', by(owner), { ...invited, id: first.id, name: first.email }, null],
    ['invitation.created', by(owner), invited, 'as member'],
    ['invitation.accepted', by(person), invited, null],
    ['member.added', by(person), who, 'as member'],
    ['member.role_changed', by(owner), who, 'from member to admin'],
    ['member.removed', by(owner), who, 'was admin'],
    ['api_key.created', by(owner), apiKey, null],
    ['api_key.revoked', by(owner), apiKey, null],
  ] as const
  assert.deepEqual(
    (await eventsOf(owner)).map(({ type, actor, address: from, outcome, target, message }) => [
      type,
      { actor, address: from, outcome },
      target,
      message,
    ]),
    expected.toReversed(),
  )
  const stored = await sql<{ row: string }>`select e::text as row from audit_events e`.execute(db)
  for (const { row } of stored.rows) {
    for (const secret of [key.secret, tokenOf(first), tokenOf(second)]) {
      assert.ok(!row.includes(secret), row)
    }
  }
})

test('no-ops are not recorded, and refused calls are not recorded as successes', async () => {
  const owner = await server.user('owner', 'stranger')
  const call = server.as(owner)
  const path = `/v1/members/${await membershipOf(server, owner)}`
  await call('PATCH', `/v1/organizations/${owner.organizationId}`, { name: 'Strangers' })
  await call('PATCH', path, { role: 'owner' })
  await call('PATCH', path, { role: 'member' })
  await call('DELETE', path)
  await call('POST', `/v1/organizations/${owner.organizationId}/leave`)
  const { body: key } = await call('POST', '/v1/api-keys', { name: 'CI', scopes: ['usage:read'] })
  await call('DELETE', `/v1/api-keys/${key.id}`)
  await call('DELETE', `/v1/api-keys/${key.id}`)
  const succeeded = (await eventsOf(owner)).filter(({ outcome }) => outcome === 'succeeded')
  assert.deepEqual(
    succeeded.map(({ type }) => type),
    ['api_key.revoked', 'api_key.created'],
  )
})

test('a change is rolled back if its audit event cannot be written', async (t) => {
  const small = await startTestServer(t, { worker: false })
  const owner = await small.user('owner', 'stranger')
  const member = await addColleague(small, owner, 'member')
  const id = await membershipOf(small, member)
  await sql`alter table audit_events add check (false) not valid`.execute(small.app.db)
  const call = small.as(owner)
  const name = 'Never'
  const answers = [
    await call('POST', '/v1/organizations', { name }),
    await call('PATCH', `/v1/organizations/${owner.organizationId}`, { name }),
    await call('PATCH', `/v1/members/${id}`, { role: 'admin' }),
    await call('DELETE', `/v1/members/${id}`),
    await small.as(member)('POST', `/v1/organizations/${owner.organizationId}/leave`),
    await call('POST', '/v1/invitations', { email: 'ada@example.com' }),
    await call('POST', '/v1/api-keys', { name, scopes: ['usage:read'] }),
  ]
  for (const { status } of answers) assert.equal(status, 500)
  const { body } = await call('GET', '/v1/members')
  const roles = body.data.map(({ role }: { role: string }) => role)
  assert.deepEqual(roles, ['member', 'owner'])
  assert.deepEqual((await call('GET', '/v1/invitations')).body.data, [])
  assert.deepEqual((await call('GET', '/v1/api-keys')).body.data, [])
  const organizations = await small.app.db.selectFrom('organizations').select('name').execute()
  assert.ok(organizations.every((organization) => organization.name !== name))
})

test('only managers of the organization can read its log', async () => {
  const owner = await server.user('owner', 'stranger')
  await invite(owner, 'ada@example.com')
  for (const role of ['owner', 'admin', 'member'] as const) {
    const colleague = await addColleague(server, owner, role)
    const { status } = await server.as(colleague)('GET', '/v1/audit-events')
    assert.equal(status, role === 'member' ? 403 : 200, role)
  }
  assert.equal((await server.call('GET', '/v1/audit-events')).status, 403)
  const stranger = await server.user('owner', 'stranger')
  assert.deepEqual(await eventsOf(stranger), [])
})

test('the log is listed newest first, in pages and by type', async () => {
  const owner = await server.user('owner', 'stranger')
  const types = ['auth.signed_in', 'member.left', 'auth.signed_in', 'auth.signed_out'] as const
  const note = (type: AuditEventType) =>
    noteAudit(db, { organizationId: owner.organizationId, type, actor: null, address: null })
  for (const type of types) await note(type)

  const seen: Event[] = []
  let cursor = ''
  for (;;) {
    const { body } = await server.as(owner)('GET', `/v1/audit-events?limit=3${cursor}`)
    seen.push(...body.data)
    if (!body.has_more) break
    // New events do not shift the pages.
    await note('auth.signed_up')
    cursor = `&cursor=${body.next_cursor}`
  }
  assert.deepEqual(
    seen.map(({ type }) => type),
    types.toReversed(),
  )
  const signIns = await eventsOf(owner, 'type=auth.signed_in')
  assert.deepEqual(
    signIns.map(({ type }) => type),
    ['auth.signed_in', 'auth.signed_in'],
  )
  const unknown = await server.as(owner)('GET', '/v1/audit-events?type=auth.lost')
  assert.equal(unknown.status, 400)
})

async function eventsOf(actor: Actor, query = 'limit=100'): Promise<Event[]> {
  const { status, body } = await server.as(actor)('GET', `/v1/audit-events?${query}`)
  assert.equal(status, 200)
  return body.data
}
