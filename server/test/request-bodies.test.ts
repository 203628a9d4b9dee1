import type { FastifyRequest } from 'fastify'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { text } from 'node:stream/consumers'
import { after, test, type TestContext } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { ApiError } from '../src/errors.ts'
import { createHttp } from '../src/http/server.ts'
import { goodPassword } from './browser.ts'
import { until } from './fake-machine.ts'
import { startTestServer } from './harness.ts'
import { answerOf, disconnect, head, open, parseAnswer, refused, write } from './raw-client.ts'

/* What strangers can make the server hold, parse and say by the bodies that they send. */

const server = await startTestServer({ after })
const url = await server.listen()
const mib = 1024 * 1024

test('200 strangers who announce 8 MiB are answered before it arrives, and nothing of it is kept', async (t) => {
  const before = heldBytes()
  const announced = { 'content-type': 'application/json', 'content-length': 8 * mib }
  const clients = await Promise.all(
    Array.from({ length: 200 }, async () => {
      const client = await open(t, url)
      client.write(head('POST', '/v1/machines', announced) + '{"name":"')
      return client
    }),
  )
  for (const client of clients) refused(await answerOf(client), 401, 'unauthenticated')

  const part = Buffer.alloc(mib / 2, 'a')
  // Written means read by the server: the buffers of a connection hold less.
  await Promise.all(clients.map((client) => write(client, part)))
  assert.ok(heldBytes() - before < 40 * mib, `${heldBytes() - before} bytes`)
})

test('whoever may not call is refused before the body arrives, and told so first', async (t) => {
  const narrow = await server.apiKey({ scopes: ['usage:read'] })
  const length = { 'content-length': 1000 }
  const json = { ...length, 'content-type': 'application/json' }
  const bytes = { ...length, 'content-type': 'application/octet-stream' }
  const asNarrow = { authorization: `Bearer ${narrow.secret}` }
  const foreign = { origin: 'http://evil.example' }
  const file = `/v1/machines/mch_${'0'.repeat(26)}/files/content?unknown=1`
  for (const [method, path, headers, status] of [
    ['PUT', file, bytes, 401],
    ['PUT', file, { ...bytes, ...asNarrow }, 403],
    ['POST', '/v1/machines', { ...json, ...asNarrow }, 403],
    ['POST', '/v1/machines', { ...length, 'content-type': 'nonsense' }, 401],
    ['POST', '/v1/auth/login', { ...json, ...foreign }, 403],
    ['POST', '/v1/nothing', json, 404],
    ['DELETE', `/v1/machines/mch_${'0'.repeat(26)}`, json, 401],
  ] as const) {
    const client = await open(t, url)
    client.write(head(method, path, headers))
    assert.equal((await answerOf(client)).status, status, `${method} ${path}`)
  }
})

test('a client that still sends gets its refusal', async (t) => {
  const client = await open(t, url)
  client.write(head('PUT', '/machines/x/files/content', chunkedBytes))
  const answer = answerOf(client)
  const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(65_536), Buffer.from('\r\n')])
  for (let sent = 0; sent < 64; sent += 1) await write(client, chunk)
  refused(await answer, 401, 'unauthenticated')
})

test('a refused client whose body never ends is disconnected', async (t) => {
  const { address } = await startWith(t, { bodyMs: 200 })
  const client = await open(t, address)
  // What it sends meanwhile may be answered by a reset.
  client.on('error', () => {})
  const closed = new Promise((resolve) => client.once('close', resolve))
  client.write(head('PUT', '/machines/x/files/content', chunkedBytes))
  refused(await answerOf(client), 401, 'unauthenticated')
  const drip = setInterval(() => client.write('1\r\na\r\n'), 20)
  t.after(() => clearInterval(drip))
  await Promise.race([
    closed,
    delay(20_000, null, { ref: false }).then(() => assert.fail('it is still connected')),
  ])
})

test('after a refusal that did not wait for the body, the connection serves the next call', async (t) => {
  const missing = `/v1/machines/mch_${'0'.repeat(26)}/files/content?path=x`
  const bytes = { 'content-type': 'application/octet-stream', 'content-length': mib }
  const authorization = `Bearer ${server.key}`
  for (const [headers, status] of [
    [bytes, 401],
    [{ ...bytes, authorization }, 404],
  ] as const) {
    const client = await open(t, url)
    client.write(head('PUT', missing, headers))
    assert.equal((await answerOf(client)).status, status)
    await write(client, Buffer.alloc(mib))
    client.write(head('GET', '/v1/auth/me', { authorization }))
    assert.equal((await answerOf(client)).status, 200)
  }
})

test('refused bodies leave nothing behind on a connection that stays open', async (t) => {
  const connected = once(server.http.server, 'connection')
  const client = await open(t, url)
  const [socket] = (await connected) as [Socket]
  const json = { 'content-type': 'application/json', 'content-length': 2 }
  for (let count = 0; count < 20; count += 1) {
    // The rest of the body follows the refusal.
    client.write(head('POST', '/v1/machines', json) + '{')
    refused(await answerOf(client), 401, 'unauthenticated')
    await write(client, Buffer.from('}'))
  }
  assert.ok(socket.listenerCount('close') < 10, `${socket.listenerCount('close')} listeners`)
})

test('a JSON body that stalls ends with an error and a closed connection', async (t) => {
  const { address, key } = await startWith(t, { bodyMs: 200 })
  const json = { 'content-type': 'application/json', 'content-length': 60_000 }
  for (const [path, headers] of [
    ['/v1/machines', { ...json, authorization: `Bearer ${key}` }],
    ['/v1/auth/login', json],
  ] as const) {
    const client = await open(t, address)
    client.write(head('POST', path, headers) + '{"name":"')
    const whole = await text(client)
    refused(parseAnswer(whole), 400, 'invalid_request', /did not arrive within 0\.2 s/)
  }
})

test('an upload that stalls ends with an error and a closed connection', async (t) => {
  const { address, key, machine } = await startWith(t, { bodyMs: 200, uploadSilenceMs: 200 })
  const client = await open(t, address)
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/octet-stream' }
  const path = `/v1/machines/${machine.id}/files/content?path=half`
  client.write(head('PUT', path, { ...headers, 'content-length': 60_000 }) + 'a')
  refused(parseAnswer(await text(client)), 400, 'invalid_request', /nothing arrived for 0\.2 s/)
})

test('an upload may wait for a slow reader', async (t) => {
  const http = createHttp({
    ...server.app,
    timing: { ...server.app.timing, uploadSilenceMs: 1_000 },
  })
  t.after(() => http.close())
  http.post('/slow', async ({ body }) => {
    // Longer than the limit, with the buffers full.
    await delay(2_500)
    return { size: (await text(body as Socket)).length }
  })
  const address = await http.listen({ host: '127.0.0.1', port: 0 })
  const type = { 'content-type': 'application/octet-stream' }
  const answer = await fetch(`${address}/slow`, {
    method: 'POST',
    body: Buffer.alloc(4 * mib, 'a'),
    headers: type,
  })
  assert.deepEqual(await answer.json(), { size: 4 * mib })
})

test('nothing is kept of an upload that is refused after it has arrived', async (t) => {
  const http = createHttp(server.app)
  t.after(() => http.close())
  let upload: FastifyRequest | undefined
  http.post('/refuse', async (request) => {
    upload = request
    await until(() => request.raw.complete)
    throw new ApiError('precondition_failed', 'the folder is a file')
  })
  const address = await http.listen({ host: '127.0.0.1', port: 0 })
  const type = { 'content-type': 'application/octet-stream' }
  // The body is larger than the buffers of its reader, so that the request has a rest.
  const body = Buffer.alloc(160 * 1024, 'a')
  const answer = await fetch(`${address}/refuse`, { method: 'POST', body, headers: type })
  assert.equal(answer.status, 412)
  await until(() => upload!.raw.readableEnded)
})

test('a sign-in of 7.9 MB of unknown fields is refused with a small answer', async (t) => {
  const fields = Array.from({ length: 680_000 }, (_, i) => `"f${i}":1`)
  const body = Buffer.from(`{${fields.join(',')}}`)
  assert.ok(body.length > 7_900_000)
  const json = { 'content-type': 'application/json' }
  const announced = await server.anonymous('POST', '/v1/auth/login', body, json)
  refused(announced, 400, 'invalid_request', /larger than 64 KiB/)

  const client = await open(t, url)
  client.on('error', () => {})
  client.write(head('POST', '/v1/auth/login', { ...json, 'transfer-encoding': 'chunked' }))
  client.write(`${body.length.toString(16)}\r\n`)
  client.write(body)
  refused(await answerOf(client), 400, 'invalid_request', /larger than 64 KiB/)
})

test('an error lists at most 20 fields, each of them shortened', async () => {
  const login = { email: 'ada@example.com', password: goodPassword }
  const unknown = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`f${i}`, 1]))
  const many = await server.anonymous('POST', '/v1/auth/login', { ...login, ...unknown })
  const { error } = refused(many, 400, 'invalid_request', /4980 more errors/)
  assert.equal(error.details!.length, 20)
  assert.ok(many.bytes.length < 4_000)

  const long = { ...login, ['x'.repeat(60_000)]: 1 }
  const cut = await server.anonymous('POST', '/v1/auth/login', long)
  assert.equal(cut.body.error.details[0].field.length, 200)
  assert.ok(cut.bytes.length < 1_000)
})

test('a body of more values than any call has is refused before they are compared', async () => {
  const path = `/v1/machines/mch_${'0'.repeat(26)}/exec`
  const command = Array.from({ length: 1_000_000 }, () => 0)
  const answer = await server.call('POST', path, { command })
  const { error } = refused(answer, 400, 'invalid_request', /more than 10000 values/)
  assert.equal(error.details, undefined)
  const nested = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  const json = { 'content-type': 'application/json' }
  refused(await server.call('POST', path, nested, json), 400, 'invalid_request', /values/)
})

test('the limit that an error names is the limit of its route', async () => {
  const id = (await server.machine()).id
  const large = 'a'.repeat(2 * mib)
  const written = await server.call('PUT', `/machines/${id}/files/content`, {
    path: 'large',
    content: large,
  })
  assert.equal(written.status, 200)
  for (const [method, path, limit] of [
    ['POST', '/v1/machines', /larger than 1 MiB/],
    ['POST', `/machines/${id}/start`, /larger than 1 MiB/],
    ['POST', '/v1/auth/password-reset', /larger than 64 KiB/],
  ] as const) {
    refused(await server.call(method, path, { name: large }), 400, 'invalid_request', limit)
  }
  const huge = { command: ['cat'], stdin: 'a'.repeat(9 * mib) }
  const exec = await server.call('POST', `/machines/${id}/exec`, huge)
  refused(exec, 400, 'invalid_request', /larger than 8 MiB; send large files as bytes/)
})

test('a key that is revoked while its body arrives is refused', async (t) => {
  const key = await server.apiKey()
  const owner = server.as(await server.user('owner'))
  const client = await open(t, url)
  const body = JSON.stringify({ name: 'too-late' })
  const headers = { authorization: `Bearer ${key.secret}`, 'content-type': 'application/json' }
  client.write(head('POST', '/v1/machines', { ...headers, 'content-length': body.length }))
  client.write(body.slice(0, -1))
  // It has been admitted once its use is recorded.
  const used = () =>
    server.app.db.selectFrom('api_keys').select('last_used_at').where('id', '=', key.id)
  while (!(await used().executeTakeFirstOrThrow()).last_used_at) await delay(5)
  assert.equal((await owner('DELETE', `/v1/api-keys/${key.id}`)).status, 200)
  client.write(body.slice(-1))
  refused(await answerOf(client), 401, 'unauthenticated')
})

const chunkedBytes = {
  'content-type': 'application/octet-stream',
  'transfer-encoding': 'chunked',
}
async function startWith(t: TestContext, timing: { bodyMs: number; uploadSilenceMs?: number }) {
  // Before the server ends, which waits for its connections.
  t.after(disconnect)
  const other = await startTestServer(t, { timing })
  return { address: await other.listen(), key: other.key, machine: await other.machine() }
}

/** The memory in use for buffers, without what only waits for the garbage collector. */
function heldBytes(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().arrayBuffers
}
