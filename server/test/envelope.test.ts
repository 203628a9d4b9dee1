import { ErrorEnvelope, errorStatus } from '@computer/contract'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { createApi } from '../src/api/server.ts'
import { openDatabase } from '../src/db/database.ts'
import { isUnreachable } from '../src/db/errors.ts'
import { startTestServer, type Answer } from './harness.ts'

const server = await startTestServer({ after })
const url = await server.listen()
const owner = server.as(await server.user('owner'))
const { id } = await server.machine()
const json = { 'content-type': 'application/json' }

test('every response has a unique request id, which errors repeat', async () => {
  const good = await server.call('GET', '/v1/machines')
  const bad = await server.call('GET', '/v1/nothing', undefined, { 'x-request-id': 'mine' })
  for (const { headers } of [good, bad])
    assert.match(String(headers['x-request-id']), /^req_\w{26}$/)
  assert.notEqual(good.headers['x-request-id'], bad.headers['x-request-id'])
  refused(bad, 'not_found')
})

test('malformed bodies are refused', async () => {
  const post = (payload: string, headers: Record<string, string> = json) =>
    server.call('POST', '/v1/sessions', payload, headers)
  refused(await post('{"machine_id":'), 'invalid_request', /not JSON/)
  refused(await post('\u0000'), 'invalid_request', /not JSON/)
  refused(await post('{"__proto__":{"x":1}}'), 'invalid_request')
  refused(await post('{"constructor":{"prototype":{}}}'), 'invalid_request')
  refused(await post(''), 'invalid_request', /machine_id/)
  for (const value of ['null', '[]', '"text"', '3', 'true']) {
    refused(await post(value), 'invalid_request')
  }
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'nonsense', 'image/*']) {
    refused(await post('{}', { 'content-type': type }), 'invalid_request', /application\/json/)
  }
  const bytes = await server.call('POST', '/v1/sessions', Buffer.from('{}'))
  refused(bytes, 'invalid_request', /application\/json/)
  assert.equal(bytes.body.error.details, undefined)
  const charset = { 'content-type': 'application/json; charset=utf-8' }
  assert.equal((await post(JSON.stringify({ machine_id: id }), charset)).status, 201)
})

test('null is no body, and for an optional field it means that it is not given', async () => {
  const before = (await server.call('GET', '/v1/machines')).body.data.length
  refused(await server.call('POST', '/v1/machines', 'null', json), 'invalid_request', /object/)
  assert.equal((await server.call('GET', '/v1/machines')).body.data.length, before)

  const optional = { name: null, template: null, metadata: null, start: false }
  assert.equal((await server.call('POST', '/v1/machines', optional)).status, 201)
  const required = await server.call('POST', '/v1/sessions', { machine_id: null })
  refused(required, 'invalid_request', /machine_id/)
  const unknown = await server.call('POST', '/v1/machines', { nothing: null })
  refused(unknown, 'invalid_request', /nothing/)
  const value = await server.call('POST', '/v1/machines', { metadata: { key: null } })
  refused(value, 'invalid_request', /metadata.key/)
})

test('an empty body is read as an empty object', async () => {
  const created = await server.call('POST', '/v1/machines', '', json)
  assert.equal(created.status, 201)
  const stopped = await server.call('POST', `/v1/machines/${created.body.id}/stop`)
  assert.equal(stopped.status, 202)
  refused(await server.call('POST', `/v1/machines/${id}/start`, { now: true }), 'invalid_request')
  assert.equal((await server.call('GET', '/v1/machines', {})).status, 200)
})

test('a JSON body of more than 8 MiB is refused, and a smaller one is accepted', async () => {
  const path = `/v1/machines/${id}/files/content`
  const write = (size: number) =>
    server.call('PUT', path, { path: 'big', content: 'a'.repeat(size) })
  refused(await write(8 * 1024 * 1024), 'invalid_request', /8 MiB/)
  assert.equal((await write(8 * 1024 * 1024 - 100)).status, 200)
})

test('unknown routes and methods are not found', async () => {
  for (const [method, path] of [
    ['GET', '/'],
    ['GET', '/v1'],
    ['GET', '/v2/machines'],
    ['GET', `/v1/machines/${id}/nothing`],
    ['GET', '/V1/machines'],
    ['PUT', '/v1/machines'],
    ['PATCH', '/v1/sessions'],
    ['POST', `/v1/machines/${id}`],
    ['OPTIONS', '/v1/machines'],
    ['TRACE', '/v1/machines'],
    ['PROPFIND', '/v1/machines'],
  ] as const) {
    refused(await server.call(method, path), 'not_found')
  }
  const body = await server.call('POST', '/v1/nothing', '{', json)
  assert.ok(['not_found', 'invalid_request'].includes(body.body.error.code))
  const head = await server.call('HEAD', '/v1/machines')
  assert.deepEqual([head.status, head.bytes.length], [404, 0])
})

test('malformed URLs get an error in the envelope', async () => {
  for (const path of ['/v1/machines/%zz', '/v1/machines/%', '/%ff', '/v1/machines/%c0%af']) {
    const answer = await server.call('GET', path)
    assert.ok(['not_found', 'invalid_request'].includes(answer.body?.error?.code), path)
    refused(answer, answer.body.error.code)
  }
})

test('errors do not repeat long paths', async () => {
  const long = '0'.repeat(5000)
  for (const [path, code] of [
    [`/v1/machines/mch_${long}`, 'invalid_request'],
    [`/v1/machines/${long}%`, 'invalid_request'],
    [`/v1/${long}`, 'not_found'],
  ] as const) {
    const answer = await server.call('GET', path)
    refused(answer, code)
    assert.ok(answer.body.error.message.length < 300, answer.body.error.message)
  }
})

test('a malformed id is invalid, not absent', async () => {
  for (const bad of [
    'x',
    'mch_',
    'mch_SHOUTING00000000000000000',
    `ses_${'0'.repeat(26)}`,
    `${id}x'`,
  ]) {
    refused(
      await server.call('GET', `/v1/machines/${bad}`),
      'invalid_request',
      /machine_id.*begins with mch_/,
    )
  }
  refused(await server.call('GET', `/v1/machines/mch_${'0'.repeat(26)}`), 'not_found')
  refused(await owner('DELETE', '/v1/api-keys/key_1'), 'invalid_request', /api_key_id/)
  refused(await server.call('DELETE', '/v1/sessions/%00'), 'invalid_request', /session_id/)
})

test('text that the database cannot store is refused by name', async () => {
  for (const bad of ['a\0b', '\ud800', 'x\udc00y']) {
    for (const [method, path, body, field] of [
      ['POST', '/v1/machines', { region: bad }, 'region'],
      ['POST', '/v1/machines', { metadata: { key: bad } }, 'metadata.key'],
      ['PATCH', `/v1/machines/${id}`, { name: bad }, 'name'],
      ['POST', '/v1/api-keys', { name: bad, scopes: ['machines:read'] }, 'name'],
    ] as const) {
      const answer = await owner(method, path, JSON.stringify(body), json)
      refused(answer, 'invalid_request')
      assert.equal(answer.body.error.details[0].field, field)
    }
    const key = await server.call('POST', '/v1/machines', { metadata: { [bad]: 'x' } })
    refused(key, 'invalid_request', /metadata/)
  }
  refused(await server.call('GET', '/v1/machines?metadata[a]=%00'), 'invalid_request')
  refused(await server.call('GET', '/v1/machines?metadata[%00]=a'), 'invalid_request')
  refused(await server.call('GET', `/v1/machines/${id}/files?path=%00`), 'invalid_request')
})

test('queries outside the contract are refused and never fail internally', async () => {
  for (const query of [
    'limit=0',
    'limit=101',
    'limit=1.5',
    'limit=x',
    'limit=1&limit=2',
    'limit[a]=1',
    'cursor=',
    'cursor=%00',
    'cursor=bWNoXw',
    `cursor=${'a'.repeat(513)}`,
    'state=asleep',
    'metadata=x',
    'metadata[a]=1&metadata[a]=2',
    'metadata[a]=1&metadata=2',
    'metadata[a][b]=1',
    'unknown=1',
    '__proto__=1',
    'constructor[name]=x',
  ]) {
    refused(await server.call('GET', `/v1/machines?${query}`), 'invalid_request')
  }
  const far = Buffer.from('999999999999999').toString('base64url')
  for (const cursor of [far, 'x', Buffer.from('-1').toString('base64url')]) {
    const path = `/v1/machines/${id}/events?cursor=${cursor}`
    refused(await server.call('GET', path), 'invalid_request', /cursor/)
  }
  const odd = await server.call('GET', '/v1/machines?metadata[__proto__]=x')
  assert.ok(odd.status === 200 || odd.status === 400)
})

test('an empty update changes nothing', async () => {
  const before = await server.call('GET', `/v1/machines/${id}`)
  const answer = await server.call('PATCH', `/v1/machines/${id}`, {})
  assert.deepEqual([answer.status, answer.body], [200, before.body])
})

test('an idempotency-key has 1 to 255 characters', async () => {
  const create = (key: string) =>
    server.call('POST', '/v1/sessions', { machine_id: id }, { 'idempotency-key': key })
  for (const key of ['', 'k'.repeat(256)]) {
    const answer = await create(key)
    refused(answer, 'invalid_request', /255/)
    assert.equal(answer.body.error.details[0].field, 'idempotency-key')
  }
  for (const key of ['k', 'k'.repeat(255)]) assert.equal((await create(key)).status, 201)
})

test('headers of more than 16 KiB, and bytes that are not HTTP, get an error in the envelope', async () => {
  const big = `GET /v1/machines HTTP/1.1\r\nhost: x\r\nx-big: ${'a'.repeat(17_000)}\r\n\r\n`
  for (const [request, message] of [
    [big, /headers are larger/],
    ['hello\r\n\r\n', /not an HTTP request/],
    ['GET / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n', /HTTP/],
  ] as const) {
    const answer = await speak(request)
    assert.match(answer, /^HTTP\/1\.1 400 /)
    const [head, body] = answer.split('\r\n\r\n') as [string, string]
    const { error } = ErrorEnvelope.parse(JSON.parse(body))
    assert.equal(error.code, 'invalid_request')
    assert.match(error.message, message)
    assert.ok(head.includes(`x-request-id: ${error.request_id}`))
  }
  const [head, body] = (await speak(big.replace('GET', 'HEAD'))).split('\r\n\r\n')
  assert.match(head!, /^HTTP\/1\.1 400 /)
  assert.equal(body, '', 'a response to HEAD has no body')
  const fits = `GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx: ${'a'.repeat(15_000)}\r\n\r\n`
  assert.match(await speak(fits), /^HTTP\/1\.1 200 /)
})

test('an internal error reveals no details', async (t) => {
  const broken = await startTestServer(t)
  await broken.app.db.schema.alterTable('machines').renameTo('gone').execute()
  const answer = await broken.call('GET', '/v1/machines')
  refused(answer, 'internal_error')
  assert.deepEqual(answer.body.error, {
    code: 'internal_error',
    message: 'internal failure; the server log has details under this request id',
    request_id: answer.headers['x-request-id'],
  })
  await broken.app.db.schema.alterTable('gone').renameTo('machines').execute()
})

test('an unreachable database is reported as retryable', async (t) => {
  const { app, key } = await startTestServer(t, { worker: false })
  const headers = { authorization: `Bearer ${key}` }
  const url = 'postgres:///any?host=/nonexistent'
  const db = openDatabase(url, { log: app.log, maxConnections: 1 })
  const http = createApi({ ...app, db })
  t.after(() => http.close())
  const answer = await http.inject({ method: 'GET', url: '/v1/machines', headers })
  assert.equal(answer.statusCode, 503)
  assert.equal(answer.json().error.code, 'compute_unavailable')
  assert.equal(answer.headers['retry-after'], '1')

  // A database that goes down during a call.
  const sleeper = sql`select pg_sleep(30) as sleeper`.execute(app.db)
  const failed = assert.rejects(sleeper, isUnreachable)
  const end = sql<{
    ended: boolean
  }>`select pg_terminate_backend(pid) as ended from pg_stat_activity
    where datname = current_database() and query like '%as sleeper' and pid <> pg_backend_pid()`
  let ended = 0
  while (ended === 0) ended = (await end.execute(app.db)).rows.length
  await failed
})

function refused(answer: Answer, code: keyof typeof errorStatus, message = /./): void {
  const seen = answer.bytes.toString()
  const { error } = ErrorEnvelope.strict().parse(answer.body, { error: () => seen })
  assert.deepEqual([answer.status, error.code], [errorStatus[code], code], seen)
  assert.match(error.message, message)
  assert.equal(error.request_id, answer.headers['x-request-id'])
  assert.match(String(answer.headers['content-type']), /^application\/json; charset=utf-8$/)
}

async function speak(request: string): Promise<string> {
  const socket = connect(Number(url.port), url.hostname)
  await once(socket, 'connect')
  socket.write(request)
  return text(socket)
}
