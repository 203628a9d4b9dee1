import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { closeRevokedSessions } from '../src/domain/control/session-closing.ts'
import type { Call } from './call.ts'
import { startTestServer } from './harness.ts'
import { eventually } from './settled.ts'

/* A session ends when its opener loses access, and its lease with it. */

const server = await startTestServer({ after })
const owner = server.as(await server.user('owner'))
const { db } = server.app

test('the sessions of a key that is revoked end, and their leases with them', async () => {
  const key = await server.apiKey()
  const held = await hold(key.call)
  const view = await key.call('POST', '/v1/sessions', { machine_id: held.id, type: 'view' })
  const other = await server.call('POST', '/v1/sessions', { machine_id: held.id })
  await owner('DELETE', `/v1/api-keys/${key.id}`)
  await isFree(held.id)
  await eventually(async () => (await stateOf(held.id, view.body.id)) === 'closed' || undefined)
  assert.equal(await stateOf(held.id, held.sessionId), 'closed')
  assert.equal(await stateOf(held.id, other.body.id), 'active')

  // The agent has the fence of the release, so no input of the former holder is accepted.
  await eventually(async () => server.guest(held.id).desktop.fence! > held.fence || undefined)
  const { body } = await server.call('GET', `/v1/machines/${held.id}/events`)
  const released = body.data.find(
    ({ type }: { type: string }) => type === 'session.control_released',
  )
  assert.deepEqual(
    [released.session_id, released.message],
    [held.sessionId, 'its opener has lost access'],
  )
})

test('the sessions of a member who is removed end: their own and those of their keys', async () => {
  const member = await server.user('member')
  const byBrowser = await hold(server.as(member))
  const byKey = await hold((await server.apiKey({ creator: member })).call)
  const { body } = await owner('GET', '/v1/members?limit=100')
  const membership = body.data.find(({ user }: { user: { id: string } }) => {
    return user.id === member.userId
  })
  assert.equal((await owner('DELETE', `/v1/members/${membership.id}`)).status, 204)
  await isFree(byBrowser.id)
  await isFree(byKey.id)
})

test('the sessions of a key that expires, or whose creator is disabled, end at the next sweep', async () => {
  const expired = await server.apiKey()
  const first = await hold(expired.call)
  const disabled = await server.user('member')
  const second = await hold((await server.apiKey({ creator: disabled })).call)
  const third = await hold(server.call)
  await db
    .updateTable('api_keys')
    .set({ expires_at: sql`now()` })
    .where('id', '=', expired.id)
    .execute()
  await db
    .updateTable('users')
    .set({ disabled_at: sql`now()` })
    .where('id', '=', disabled.userId)
    .execute()
  await closeRevokedSessions(server.app)
  for (const { id } of [first, second]) assert.equal(await holderOf(id), null)
  assert.ok(await holderOf(third.id))
})

/** A machine of its own whose lease that caller holds. */
async function hold(call: Call) {
  const { id } = await server.machine()
  const session = await call('POST', '/v1/sessions', { machine_id: id })
  const path = `/v1/machines/${id}/input-lease`
  const lease = await call('POST', path, { session_id: session.body.id, ttl_seconds: 3600 })
  assert.equal(lease.status, 200)
  return { id, sessionId: session.body.id as string, fence: lease.body.fence as number }
}

async function isFree(id: string): Promise<void> {
  await eventually(async () => (await holderOf(id)) === null || undefined)
}

async function holderOf(id: string): Promise<unknown> {
  return (await server.call('GET', `/v1/machines/${id}/input-lease`)).body.holder
}

async function stateOf(machineId: string, id: string): Promise<string> {
  const { body } = await server.call('GET', `/v1/sessions?machine_id=${machineId}&limit=100`)
  return body.data.find((session: { id: string }) => session.id === id).state
}
