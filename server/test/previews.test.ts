import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createApi } from '../src/api/server.ts'
import { callWith } from './call.ts'
import { startTestServer } from './harness.ts'

/* Published ports as resources of the API. */

const server = await startTestServer({ after })
const { db } = server.app
const machine = await server.machine()
const path = `/v1/machines/${machine.id}/ports`

test('the credentials of a private preview are returned once and never again', async () => {
  const { status, body } = await server.call('POST', path, { port: 3000, name: 'web' })
  assert.equal(status, 201)
  assert.match(body.id, /^prv_/)
  assert.match(body.url, /^https:\/\/[0-9a-hjkmnp-tv-z]{26}\.preview\.test$/)
  assert.match(body.secret, /^computer_preview_[\w-]{43}$/)
  assert.match(body.access_url, new RegExp(`^${body.url}/\\.computer/access\\?token=`))
  assert.deepEqual(
    [body.port, body.name, body.access, body.machine_id, body.last_request_at],
    [3000, 'web', 'private', machine.id, null],
  )
  const shown = { ...body, secret: null, access_url: null }
  assert.deepEqual((await server.call('GET', `${path}/${body.id}`)).body, shown)
  assert.deepEqual((await server.call('GET', path)).body.data, [shown])
  assert.deepEqual((await server.call('GET', '/v1/ports')).body.data, [shown])

  const again = await server.call('POST', path, { port: 3000, access: 'public', name: 'other' })
  assert.equal(again.status, 200)
  assert.deepEqual(again.body, shown)
})

test('a public preview has no credentials', async () => {
  const { body } = await server.call('POST', path, { port: 3001, access: 'public' })
  assert.deepEqual([body.access, body.secret, body.access_url], ['public', null, null])
})

test('the database contains neither secret nor token', async () => {
  const { body } = await server.call('POST', path, { port: 3002 })
  const token = new URL(body.access_url).searchParams.get('token')!
  const tables = ['previews', 'preview_links', 'preview_hostnames', 'audit_events'] as const
  for (const table of tables) {
    const text = JSON.stringify(await db.selectFrom(table).selectAll().execute())
    assert.ok(!text.includes(body.secret) && !text.includes(token), table)
  }
})

test('a hostname is never used again, even for the same port of the same machine', async () => {
  const given = new Set<string>()
  for (let round = 0; round < 20; round++) {
    const { body } = await server.call('POST', path, { port: 4000 })
    assert.ok(!given.has(body.url))
    given.add(body.url)
    assert.equal((await server.call('DELETE', `${path}/${body.id}`)).status, 204)
    assert.equal((await server.call('GET', `${path}/${body.id}`)).status, 404)
    assert.equal((await server.call('DELETE', `${path}/${body.id}`)).status, 404)
  }
  const kept = await db.selectFrom('preview_hostnames').select('label').execute()
  const labels = new Set(kept.map(({ label }) => label))
  for (const url of given) assert.ok(labels.has(new URL(url).host.split('.')[0]!))
})

test('fifty concurrent calls for one port get the same hostname, and one of them the secret', async () => {
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => server.call('POST', path, { port: 5000 })),
  )
  assert.equal(new Set(answers.map(({ body }) => body.url)).size, 1)
  assert.equal(answers.filter(({ body }) => body.secret !== null).length, 1)
  assert.deepEqual(answers.map(({ status }) => status).sort(), [...Array(49).fill(200), 201])
})

test('an interrupted call gets working credentials when it is retried', async () => {
  const headers = { 'idempotency-key': 'publish' }
  const first = await server.call('POST', path, { port: 5001 }, headers)
  await db.updateTable('idempotency_keys').set({ sealed_response: null, status: null }).execute()
  await db
    .updateTable('idempotency_keys')
    .set({ running_until: new Date(0) })
    .execute()
  const second = await server.call('POST', path, { port: 5001 }, headers)
  assert.deepEqual([second.status, second.body.url], [201, first.body.url])
  assert.notEqual(second.body.secret, first.body.secret)
  assert.equal(typeof second.body.access_url, 'string')
  const third = await server.call('POST', path, { port: 5001 }, headers)
  assert.deepEqual(third.body, second.body)
})

test('a port must be an integer in canonical form', async () => {
  const wrong = [0, -1, 65_536, 1.5, '80', '02280', '+2280', ' 80', null, true, [80], 1e21, {}]
  for (const port of wrong) {
    const { status, body } = await server.call('POST', path, { port })
    assert.deepEqual([status, body.error.code], [400, 'invalid_request'], String(port))
  }
  const spelled = { 'content-type': 'application/json' }
  for (const json of ['{"port":02280}', '{"port":+2280}', '{"port":0x50}', '{"port":NaN}']) {
    const answer = await server.http.inject({
      method: 'POST',
      url: path,
      payload: json,
      headers: { ...spelled, authorization: `Bearer ${server.key}` },
    })
    assert.equal(answer.statusCode, 400, json)
  }
})

test('previews are invisible to other organizations', async () => {
  const stranger = server.as(await server.user('owner', 'stranger'))
  const { body } = await server.call('GET', path)
  const { id } = body.data[0]
  for (const [method, at] of [
    ['POST', path],
    ['GET', path],
    ['GET', `${path}/${id}`],
    ['DELETE', `${path}/${id}`],
  ] as const) {
    const answer = await stranger(method, at, method === 'POST' ? { port: 80 } : undefined)
    assert.equal(answer.status, 404, `${method} ${at}`)
  }
  assert.deepEqual((await stranger('GET', '/v1/ports')).body.data, [])
})

test('a preview cannot be reached through another machine', async () => {
  const other = await server.machine()
  const { body } = await server.call('GET', path)
  const { status } = await server.call('GET', `/v1/machines/${other.id}/ports/${body.data[0].id}`)
  assert.equal(status, 404)
})

test('ports of a stopped machine can be published; those of a deleted one are gone', async () => {
  const { id } = await server.machine({ start: false })
  const at = `/v1/machines/${id}/ports`
  const { status, body } = await server.call('POST', at, { port: 80 })
  assert.equal(status, 201)
  await server.call('DELETE', `/v1/machines/${id}`)
  const deleted = await server.call('POST', at, { port: 81 })
  assert.ok([404, 409].includes(deleted.status), String(deleted.status))
  const label = new URL(body.url).host.split('.')[0]!
  for (;;) {
    const rows = await db.selectFrom('previews').select('id').where('label', '=', label).execute()
    if (rows.length === 0) break
  }
  const kept = db.selectFrom('preview_hostnames').where('label', '=', label).selectAll()
  assert.equal((await kept.execute()).length, 1)
})

test('publishing, unpublishing and refused attempts are audited', async () => {
  const { body } = await server.call('POST', path, { port: 6000, access: 'public' })
  await server.call('DELETE', `${path}/${body.id}`)
  await server.call('POST', path, { port: 0 })
  const owner = server.as(await server.user('owner'))
  const { body: log } = await owner('GET', '/v1/audit-events')
  const lines = log.data
    .slice(0, 3)
    .map((line: { type: string; outcome: string }) => [line.type, line.outcome])
  assert.deepEqual(lines, [
    ['port.published', 'failed'],
    ['port.unpublished', 'succeeded'],
    ['port.published', 'succeeded'],
  ])
  assert.deepEqual(log.data[2].target.name, `port 6000 of ${machine.name}`)
})

test('without a preview domain nothing can be published', async (t) => {
  const bare = { ...server.app, config: { ...server.app.config, previews: null } }
  const http = createApi(bare)
  t.after(() => http.close())
  const call = callWith(http, { authorization: `Bearer ${server.key}` })
  const { status, body } = await call('POST', path, { port: 7000 })
  assert.deepEqual([status, body.error.code], [501, 'unsupported_operation'])
  assert.equal((await call('GET', path)).status, 200)
})
