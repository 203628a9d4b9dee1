import { ApiKeyScope } from '@computer/contract'
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { onDisksOf } from './disks.ts'
import { startTestServer, type Call } from './harness.ts'
import { fiftyWithOneKey, loseAnswers } from './one-key.ts'
import { settled } from './settled.ts'

const server = await startTestServer({ after })
const { db } = server.app
const owner = server.as(await server.user('owner'))
const bearer = { authorization: 'Bearer one' }

test('the same key replays the first response', async () => {
  const { id: machine_id } = await server.machine({ start: false })
  const creations: [call: Call, path: string, body: object, other: object][] = [
    [server.call, '/v1/machines', { start: false }, { start: false, size: 'large' }],
    [server.call, '/v1/sessions', { machine_id }, { machine_id, type: 'view' }],
    [owner, '/v1/api-keys', newKey('one'), newKey('two')],
  ]
  for (const [call, path, body, other] of creations) {
    const before = await count(path)
    const headers = { ...(call === owner && bearer), 'idempotency-key': randomUUID() }
    const first = await call('POST', path, body, headers)
    assert.equal(first.status, 201)
    assert.equal(first.headers['idempotent-replayed'], undefined)
    const second = await call('POST', path, body, headers)
    assert.deepEqual([second.status, second.body], [201, first.body])
    assert.equal(second.headers['idempotent-replayed'], 'true')
    assert.notEqual(second.headers['x-request-id'], first.headers['x-request-id'])
    const different = await call('POST', path, other, headers)
    assert.deepEqual([different.status, different.body.error.code], [409, 'conflict'])
    assert.match(different.body.error.message, /different body/)
    assert.equal(different.headers['retry-after'], undefined)
    assert.equal(await count(path), before + 1)
  }
})

test('the order of keys in a body makes no difference', async () => {
  const headers = { 'idempotency-key': randomUUID(), 'content-type': 'application/json' }
  const create = (body: string) => server.call('POST', '/v1/machines', body, headers)
  const first = await create('{"start":false,"metadata":{"a":"1","b":"2"}}')
  assert.equal(first.status, 201)
  const second = await create('{"metadata":{"b":"2","a":"1"},"start":false}')
  assert.deepEqual([second.status, second.body.id], [201, first.body.id])
})

test('fifty concurrent calls with one key create one machine', async () => {
  const before = await count('/v1/machines')
  const headers = { 'idempotency-key': randomUUID() }
  const create = () => server.call('POST', '/v1/machines', { start: false }, headers)
  await fiftyWithOneKey(create, 201)
  assert.equal(await count('/v1/machines'), before + 1)
})

test('a call after a crash completes the interrupted one, even if the quota is used up', async (t) => {
  const small = await startTestServer(t, { plan: 'free' })
  const headers = { 'idempotency-key': 'crash' }
  const create = () => small.call('POST', '/v1/machines', { name: 'once' }, headers)
  const first = await create()
  await loseAnswers(small.app.db)
  const second = await create()
  assert.deepEqual([second.status, second.body], [201, first.body])
  assert.equal(second.headers['idempotent-replayed'], undefined)
  assert.equal((await create()).headers['idempotent-replayed'], 'true')

  const session = { machine_id: first.body.id }
  const open = () => small.call('POST', '/v1/sessions', session, headers)
  const opened = await open()
  await small.call('POST', '/v1/sessions', session)
  await loseAnswers(small.app.db)
  assert.deepEqual((await open()).body, opened.body)
  assert.equal((await small.call('GET', '/v1/sessions')).body.data.length, 2)
})

test('a restore with one key happens once, also when its response was lost', async () => {
  const { id } = await server.machine()
  const disks = onDisksOf(server)
  const snapshot = await disks.snapshot(id)
  const headers = { 'idempotency-key': randomUUID() }
  const restore = () =>
    server.call('POST', `/v1/machines/${id}/restore`, { snapshot_id: snapshot.id }, headers)
  assert.equal((await restore()).status, 202)
  await settled(server, id, 'running')
  const again = await restore()
  assert.deepEqual([again.status, again.headers['idempotent-replayed']], [202, 'true'])
  await loseAnswers(server.app.db)
  assert.equal((await restore()).status, 202)
  const { body } = await server.call('GET', `/v1/snapshots?machine_id=${id}`)
  const names = body.data.map(({ name }: { name: string }) => name)
  assert.deepEqual(names, ['Before restore', snapshot.name])
})

test('an API key whose response was lost gets a new secret', async () => {
  const headers = { ...bearer, 'idempotency-key': randomUUID() }
  const create = () => owner('POST', '/v1/api-keys', newKey('crash'), headers)
  const first = await create()
  await loseAnswers(server.app.db)
  const second = await create()
  assert.equal(second.body.id, first.body.id)
  assert.notEqual(second.body.secret, first.body.secret)
  assert.equal((await me(first.body.secret)).status, 401)
  assert.equal((await me(second.body.secret)).status, 200)
  const third = await create()
  assert.equal(third.body.secret, second.body.secret)
})

test('while the first call runs, others are refused as retryable', async (t) => {
  const slow = await startTestServer(t, { worker: false })
  const headers = { 'idempotency-key': 'slow' }
  const create = () => slow.call('POST', '/v1/machines', {}, headers)
  const first = create()
  await waitForRow(slow)
  const second = await create()
  assert.deepEqual([second.status, second.headers['retry-after']], [409, '1'])
  assert.match(second.body.error.message, /still running/)
  const other = await slow.call('POST', '/v1/machines', { size: 'large' }, headers)
  assert.match(other.body.error.message, /different body/)
  const machine = await slow.app.db.selectFrom('machines').selectAll().executeTakeFirstOrThrow()
  await slow.app.db.updateTable('machines').set({ state: 'running' }).execute()
  assert.equal((await first).body.id, machine.id)
})

test('a refused call does not use up its key', async () => {
  const headers = { 'idempotency-key': randomUUID() }
  await server.machine({ name: 'taken', start: false })
  const refused = await server.call('POST', '/v1/machines', { name: 'taken' }, headers)
  assert.equal(refused.status, 409)
  assert.match(refused.body.error.message, /taken/)
  const invalid = await server.call('POST', '/v1/machines', { name: 'Not A Name' }, headers)
  assert.equal(invalid.status, 400)
  const input = { name: 'free', start: false }
  assert.equal((await server.call('POST', '/v1/machines', input, headers)).status, 201)
})

test('keys are separate for each caller and route', async () => {
  const { id: machine_id } = await server.machine({ start: false })
  const headers = { 'idempotency-key': 'same for all' }
  const other = await server.apiKey()
  const stranger = server.as(await server.user('owner', 'stranger'))
  const input = { start: false }
  const ids = new Set<string>()
  for (const call of [server.call, other.call, stranger, owner]) {
    const { status, body } = await call('POST', '/v1/machines', input, headers)
    assert.equal(status, 201)
    ids.add(body.id)
  }
  assert.equal(ids.size, 4)
  const session = await server.call('POST', '/v1/sessions', { machine_id }, headers)
  assert.equal(session.status, 201)
})

test('a key expires after a day', async () => {
  const headers = { 'idempotency-key': randomUUID() }
  const create = () => server.call('POST', '/v1/machines', { start: false }, headers)
  const first = await create()
  await db
    .updateTable('idempotency_keys')
    .set({ created_at: sql`now() - interval '25 hours'` })
    .execute()
  const second = await create()
  assert.equal(second.status, 201)
  assert.notEqual(second.body.id, first.body.id)
})

test('the stored response cannot be read without the credential', async () => {
  const key = randomUUID()
  const headers = { ...bearer, 'idempotency-key': key }
  const { body } = await owner('POST', '/v1/api-keys', newKey('secret name'), headers)
  const { rows } = await sql<{ row: string }>`select
    encode(convert_to(k::text, 'utf8'), 'escape') || encode(coalesce(sealed_response, ''), 'escape')
    as row from idempotency_keys k`.execute(db)
  const stored = rows.map(({ row }) => row).join('\n')
  const parts = [body.secret, body.id, key, 'secret name', bearer.authorization]
  for (const part of parts) {
    const hex = Buffer.from(part).toString('hex')
    assert.ok(!stored.includes(part) && !stored.includes(hex), part)
  }
  const changed = { authorization: 'Bearer another', 'idempotency-key': key }
  const other = await owner('POST', '/v1/api-keys', newKey('secret name'), changed)
  assert.deepEqual([other.status, other.body.error.code], [409, 'conflict'])
})

function newKey(name: string) {
  return { name, scopes: [...ApiKeyScope.options] }
}

function me(secret: string) {
  return server.anonymous('GET', '/v1/auth/me', undefined, { authorization: `Bearer ${secret}` })
}

async function count(path: string): Promise<number> {
  const table = path.slice('/v1/'.length).replace('-', '_')
  const { rows } = await sql<{ n: number }>`select count(*) as n from ${sql.table(table)}`.execute(
    db,
  )
  return rows[0]!.n
}

/** Simulates a process that died after the effect and before the response was stored. */
async function waitForRow({ app }: typeof server): Promise<void> {
  for (;;) {
    const row = await app.db.selectFrom('machines').select('id').executeTakeFirst()
    if (row) return
    await new Promise(setImmediate)
  }
}
