import assert from 'node:assert/strict'
import { test } from 'node:test'
import { moveMachine } from '../src/domain/events/machine-states.ts'
import { startTestServer } from './harness.ts'
import { eventually, gone, settled } from './settled.ts'
import { givePlan } from './plans.ts'

test('a machine is created running, with every field of the contract', async (t) => {
  const server = await startTestServer(t)
  const answer = await server.call('POST', '/v1/machines', {
    name: 'my-box',
    size: 'standard',
    region: 'eu-1',
    metadata: { team: 'red', 'weird key': 'ü 漢 🙂' },
  })
  assert.equal(answer.status, 201)
  const { id, organization_id, image_id, created_at, started_at, ...rest } = answer.body
  assert.match(id, /^mch_[0-9a-z]{20,32}$/)
  assert.match(organization_id, /^org_[0-9a-z]{20,32}$/)
  assert.equal(image_id, server.imageId)
  assert.ok(Date.parse(started_at) >= Date.parse(created_at))
  assert.deepEqual(rest, {
    name: 'my-box',
    state: 'running',
    os: 'linux',
    size: 'standard',
    template_id: null,
    cpu: 4,
    memory_mb: 8192,
    disk_gb: 25,
    region: 'eu-1',
    metadata: { team: 'red', 'weird key': 'ü 漢 🙂' },
    stopped_at: null,
  })
  assert.deepEqual((await server.call('GET', `/v1/machines/${id}`)).body, answer.body)
})

test('a machine with start false is created stopped, and gets a readable name', async (t) => {
  const server = await startTestServer(t)
  const machine = await server.machine({ start: false })
  assert.equal(machine.state, 'stopped')
  assert.match(machine.name, /^[a-z]+-[a-z]+-\d\d$/)
})

test('stop, start and restart go through their states; wait delays the response', async (t) => {
  const server = await startTestServer(t)
  const { id } = await server.machine()
  const stop = await server.call('POST', `/v1/machines/${id}/stop`)
  assert.deepEqual([stop.status, stop.body.state], [202, 'stopping'])
  await settled(server, id, 'stopped')
  const start = await server.call('POST', `/v1/machines/${id}/start?wait=20`)
  assert.deepEqual([start.status, start.body.state], [202, 'running'])
  const restart = await server.call('POST', `/v1/machines/${id}/restart?wait=20`)
  assert.equal(restart.body.state, 'running')
  assert.ok(restart.body.started_at > start.body.started_at)

  const events = await server.call('GET', `/v1/machines/${id}/events?limit=100`)
  const moves = events.body.data
    .filter((event: { to_state: string | null }) => event.to_state)
    .map(
      (event: { from_state: string; to_state: string }) => `${event.from_state}>${event.to_state}`,
    )
  assert.deepEqual(moves.toReversed(), [
    'null>creating',
    'creating>running',
    'running>stopping',
    'stopping>stopped',
    'stopped>starting',
    'starting>running',
    'running>stopping',
    'stopping>stopped',
    'stopped>starting',
    'starting>running',
  ])
})

test('of two callers that read the same row, one changes the state', async (t) => {
  const server = await startTestServer(t, { worker: false })
  const { db } = server.app
  const pending = server.call('POST', '/v1/machines', {})
  const machine = await eventually(() => db.selectFrom('machines').selectAll().executeTakeFirst())
  const fail = () => db.transaction().execute((tx) => moveMachine(tx, machine, 'error'))
  await fail()
  await assert.rejects(fail, { code: 'conflict', message: /is error and no longer creating/ })
  assert.equal((await pending).body.state, 'error')
})

test('a refused transition names both states', async (t) => {
  const server = await startTestServer(t)
  const { id } = await server.machine({ start: false })
  const answer = await server.call('POST', `/v1/machines/${id}/stop`)
  assert.equal(answer.status, 409)
  assert.equal(answer.body.error.code, 'conflict')
  assert.match(answer.body.error.message, /from stopped to stopping/)
})

test('a deleted machine is not found, and its name can be used again', async (t) => {
  const server = await startTestServer(t)
  const { id } = await server.machine({ name: 'again' })
  const answer = await server.call('DELETE', `/v1/machines/${id}`)
  assert.deepEqual([answer.status, answer.body.state], [202, 'deleting'])
  await gone(server, id)
  assert.equal((await server.machine({ name: 'again' })).state, 'running')
  assert.equal((await server.app.driver.list()).length, 1)
})

test('names are unique within an organization', async (t) => {
  const server = await startTestServer(t)
  await server.machine({ name: 'twin', start: false })
  const answer = await server.call('POST', '/v1/machines', { name: 'twin' })
  assert.equal(answer.body.error.code, 'conflict')
  assert.match(answer.body.error.message, /twin/)
})

test("a stranger's machine is not found", async (t) => {
  const server = await startTestServer(t)
  const { id } = await server.machine({ start: false })
  const stranger = server.as(await server.user('owner', 'stranger'))
  for (const [method, path] of [
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/start'],
    ['GET', '/events'],
    ['GET', '/input-lease'],
    ['GET', '/screenshot'],
  ] as const) {
    const answer = await stranger(
      method,
      `/v1/machines/${id}${path}`,
      method === 'GET' ? undefined : {},
    )
    assert.equal(answer.status, 404, `${method} ${path}`)
  }
})

test('update renames, replaces metadata, and resizes a stopped machine upwards', async (t) => {
  const server = await startTestServer(t)
  const { id } = await server.machine({ start: false, metadata: { a: '1' } })
  const path = `/v1/machines/${id}`
  const changed = await server.call('PATCH', path, {
    name: 'new-name',
    metadata: { b: '2' },
    size: 'large',
  })
  assert.equal(changed.status, 200)
  const { name, metadata, size, cpu, disk_gb } = changed.body
  assert.deepEqual(
    { name, metadata, size, cpu, disk_gb },
    {
      name: 'new-name',
      metadata: { b: '2' },
      size: 'large',
      cpu: 8,
      disk_gb: 50,
    },
  )
  const smaller = await server.call('PATCH', path, { size: 'small' })
  assert.equal(smaller.status, 400)
  await server.call('POST', `${path}/start?wait=20`)
  assert.equal((await server.call('PATCH', path, { size: 'large' })).status, 412)
})

test('the list filters, and its pages neither skip nor repeat', async (t) => {
  const server = await startTestServer(t)
  const made: string[] = []
  for (const index of [0, 1, 2, 3, 4]) {
    const { id } = await server.machine({ start: false, metadata: { index: String(index % 2) } })
    made.unshift(id)
  }
  const first = await server.call('GET', '/v1/machines?limit=2')
  assert.equal(first.body.has_more, true)
  await server.machine({ start: false })
  const second = await server.call('GET', `/v1/machines?limit=3&cursor=${first.body.next_cursor}`)
  const ids = [...first.body.data, ...second.body.data].map((machine) => machine.id)
  assert.deepEqual(ids, made)
  assert.equal(second.body.next_cursor, null)

  const odd = await server.call('GET', '/v1/machines?metadata[index]=1&state=stopped')
  assert.equal(odd.body.data.length, 2)
  assert.equal((await server.call('GET', '/v1/machines?cursor=nonsense')).status, 400)
  const elsewhere = await server.call('GET', `/v1/sessions?cursor=${first.body.next_cursor}`)
  assert.equal(elsewhere.status, 400, 'the cursor of another list')
  assert.equal((await server.call('GET', '/v1/machines?colour=red')).status, 400)
})

test('the list is searched by the beginning of names, in any case and without wildcards', async (t) => {
  const server = await startTestServer(t)
  for (const name of ['web-1', 'web-2', 'worker', 'my-web'])
    await server.machine({ name, start: false })
  await server.call('POST', '/v1/machines', { name: 'web-3', start: false, metadata: { a: 'b' } })
  const search = async (query: string) => {
    const { body } = await server.call('GET', `/v1/machines?${query}`)
    return body.data.map(({ name }: { name: string }) => name)
  }
  assert.deepEqual(await search('search=web'), ['web-3', 'web-2', 'web-1'])
  assert.deepEqual(await search('search=W'), ['web-3', 'worker', 'web-2', 'web-1'])
  assert.deepEqual(await search('search=WEB-2'), ['web-2'])
  assert.deepEqual(await search('search=web&metadata[a]=b'), ['web-3'])
  for (const wild of ['%25', 'w%25', 'web_1', '_', 'web%5C', 'x'])
    assert.deepEqual(await search(`search=${wild}`), [], wild)
  for (const refused of ['', 'a'.repeat(64), 'a%00'])
    assert.equal((await server.call('GET', `/v1/machines?search=${refused}`)).status, 400)
})

test('a refusal by the plan contains the quota', async (t) => {
  const server = await startTestServer(t, { plan: 'free' })
  const large = await server.call('POST', '/v1/machines', { size: 'large' })
  assert.deepEqual([large.status, large.body.error.code], [402, 'quota_exceeded'])
  assert.equal(large.body.error.quota, undefined)
  const details = [{ field: 'size', message: 'must be at most small' }]
  assert.deepEqual(large.body.error.details, details)
  await server.machine({ start: false })
  const second = await server.call('POST', '/v1/machines', { start: false })
  assert.equal(second.status, 402)
  assert.deepEqual(second.body.error.quota, {
    limit: 'machines',
    current: 1,
    maximum: 1,
    plan_id: 'free',
    upgrade_url: `${server.app.config.dashboardUrl}/billing`,
  })
})

test('an enterprise organization without its own numbers is refused', async (t) => {
  const server = await startTestServer(t, { plan: 'enterprise' })
  const refused = await server.call('POST', '/v1/machines', {})
  assert.deepEqual([refused.status, refused.body.error.quota.maximum], [402, null])
  await givePlan(server.app.db, { terms: { machines: 2, running_machines: 2 } })
  assert.equal((await server.machine({})).state, 'running')
})
