import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { startTestServer } from './harness.ts'
import { gone } from './settled.ts'

const server = await startTestServer({ after })
const { db } = server.app

test('a session is opened, listed and closed, with every field of the contract', async () => {
  const { id: machineId } = await server.machine({ start: false })
  const { call, id: keyId } = await server.apiKey({ name: 'Robot' })
  const opened = await call('POST', '/v1/sessions', { machine_id: machineId })
  assert.equal(opened.status, 201)
  const { id, organization_id, created_at, last_active_at, ...rest } = opened.body
  assert.match(id, /^ses_[0-9a-z]{26}$/)
  assert.match(organization_id, /^org_/)
  assert.equal(created_at, last_active_at)
  assert.deepEqual(rest, {
    machine_id: machineId,
    type: 'agent',
    state: 'active',
    opened_by: { type: 'api_key', id: keyId, name: 'Robot' },
    closed_at: null,
  })
  const list = await server.call('GET', `/v1/sessions?machine_id=${machineId}`)
  assert.deepEqual(list.body, { data: [opened.body], next_cursor: null, has_more: false })

  const closed = await call('DELETE', `/v1/sessions/${id}`)
  assert.deepEqual([closed.status, closed.body.state], [200, 'closed'])
  assert.deepEqual((await call('DELETE', `/v1/sessions/${id}`)).body, closed.body)
  const active = await server.call('GET', `/v1/sessions?machine_id=${machineId}&state=active`)
  assert.deepEqual(active.body.data, [])
  assert.deepEqual(await eventsOf(machineId, id), ['session.connected', 'session.disconnected'])
})

test('a browser opens a human session, unless it says otherwise', async () => {
  const { id: machine_id } = await server.machine({ start: false })
  const user = server.as(await server.user('member'))
  const session = await user('POST', '/v1/sessions', { machine_id })
  assert.deepEqual([session.body.type, session.body.opened_by.type], ['human', 'user'])
  const view = await user('POST', '/v1/sessions', { machine_id, type: 'view' })
  assert.equal(view.body.type, 'view')
  assert.equal((await user('POST', '/v1/sessions', { machine_id, type: 'root' })).status, 400)
})

test('a session is idle after a minute and closed for good after a day', async () => {
  const { id: machine_id } = await server.machine()
  const { body } = await server.call('POST', '/v1/sessions', { machine_id })
  const stateAfter = async (age: string) => {
    await setLastActive(body.id, age)
    const list = await server.call('GET', `/v1/sessions?machine_id=${machine_id}`)
    return list.body.data[0]
  }
  assert.equal((await stateAfter('59 seconds')).state, 'active')
  assert.equal((await stateAfter('61 seconds')).state, 'idle')
  assert.equal((await stateAfter('23 hours 59 minutes')).state, 'idle')
  const abandoned = await stateAfter('25 hours')
  assert.equal(abandoned.state, 'closed')
  const idleForMs = Date.parse(abandoned.closed_at) - Date.parse(abandoned.last_active_at)
  assert.equal(idleForMs, 24 * 3_600_000)

  const path = `/v1/machines/${machine_id}/input-lease`
  const acquired = await server.call('POST', path, { session_id: body.id })
  assert.deepEqual([acquired.status, acquired.body.error.code], [412, 'precondition_failed'])
})

test('a session that holds the lease stays active without calls', async () => {
  const { id } = await server.machine()
  const { sessionId } = await server.lease(id)
  await setLastActive(sessionId, '10 minutes')
  const list = await server.call('GET', `/v1/sessions?machine_id=${id}&state=active`)
  assert.equal(list.body.data.length, 1)
  await server.call('DELETE', `/v1/machines/${id}/input-lease?session_id=${sessionId}`)
  await setLastActive(sessionId, '10 minutes')
  const idle = await server.call('GET', `/v1/sessions?machine_id=${id}&state=idle`)
  assert.equal(idle.body.data.length, 1)
})

test("a stranger's session and machine do not exist", async () => {
  const { id: machine_id } = await server.machine({ start: false })
  const { body } = await server.call('POST', '/v1/sessions', { machine_id })
  const stranger = server.as(await server.user('owner', 'stranger'))
  assert.equal((await stranger('DELETE', `/v1/sessions/${body.id}`)).status, 404)
  assert.equal((await stranger('POST', '/v1/sessions', { machine_id })).status, 404)
  assert.deepEqual((await stranger('GET', '/v1/sessions')).body.data, [])
})

test("closing another's session needs machines:control, as taking its lease does", async () => {
  const { id: machine_id } = await server.machine({ start: false })
  const { body } = await server.call('POST', '/v1/sessions', { machine_id })
  const reader = await server.apiKey({ scopes: ['sessions:write'] })
  const refused = await reader.call('DELETE', `/v1/sessions/${body.id}`)
  assert.deepEqual([refused.status, refused.body.error.code], [403, 'permission_denied'])
  const own = await reader.call('POST', '/v1/sessions', { machine_id })
  assert.equal((await reader.call('DELETE', `/v1/sessions/${own.body.id}`)).status, 200)
  const controller = await server.apiKey({ scopes: ['machines:control'] })
  assert.equal((await controller.call('DELETE', `/v1/sessions/${body.id}`)).status, 200)
})

test('deleting a machine closes its sessions', async () => {
  const { id: machine_id } = await server.machine()
  const { sessionId } = await server.lease(machine_id)
  await server.call('DELETE', `/v1/machines/${machine_id}`)
  await gone(server, machine_id)
  const list = await server.call('GET', `/v1/sessions?machine_id=${machine_id}`)
  assert.deepEqual([list.body.data[0].id, list.body.data[0].state], [sessionId, 'closed'])
  assert.equal((await server.call('POST', '/v1/sessions', { machine_id })).status, 404)
})

test('a plan limits the sessions that are not closed, also under concurrent calls', async (t) => {
  const small = await startTestServer(t, { plan: 'free' })
  const { id: machine_id } = await small.machine({ start: false })
  const open = () => small.call('POST', '/v1/sessions', { machine_id })
  const answers = await Promise.all(Array.from({ length: 6 }, open))
  const opened = answers.filter(({ status }) => status === 201)
  assert.equal(opened.length, 2)
  const refused = answers.find(({ status }) => status !== 201)!
  assert.deepEqual(refused.body.error.quota, {
    limit: 'concurrent_sessions',
    current: 2,
    maximum: 2,
    plan_id: 'free',
    upgrade_url: `${server.app.config.dashboardUrl}/billing`,
  })
  await small.call('DELETE', `/v1/sessions/${opened[0]!.body.id}`)
  assert.equal((await open()).status, 201)
  await small.app.db
    .updateTable('sessions')
    .set({ last_active_at: sql`now() - interval '2 days'` })
    .execute()
  assert.equal((await open()).status, 201)
})

async function setLastActive(id: string, age: string): Promise<void> {
  await db
    .updateTable('sessions')
    .set({ last_active_at: sql`now() - ${age}::interval` })
    .where('id', '=', id as never)
    .execute()
}

async function eventsOf(machineId: string, sessionId: string): Promise<string[]> {
  const { body } = await server.call('GET', `/v1/machines/${machineId}/events?limit=100`)
  return body.data
    .filter((event: { session_id: string | null }) => event.session_id === sessionId)
    .map((event: { type: string }) => event.type)
    .toReversed()
}
