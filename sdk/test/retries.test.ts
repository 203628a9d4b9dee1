import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { ApiError, Computer } from '../src/index.ts'
import { answer, createNetwork, lose } from './network.ts'
import { startServer } from './server.ts'

const server = await startServer({ after })

test('a creation whose response is lost is retried with its idempotency key, and happens once', async () => {
  const network = createNetwork()
  const computer = server.connect({ fetch: network.fetch })
  network.next('POST /v1/machines', lose)
  network.next('POST /v1/machines', lose)
  const machine = await computer.machines.create({ name: 'once', start: false })
  const keys = network.sent.map(({ headers }) => headers.get('idempotency-key'))
  assert.equal(keys.length, 3)
  assert.ok(keys[0])
  assert.deepEqual(new Set(keys).size, 1)
  const named = await computer.machines.list({ name: 'once' }).all()
  assert.deepEqual(
    named.map(({ id }) => id),
    [machine.id],
  )
})

test('a state change whose response is lost is still waited for', async () => {
  const network = createNetwork()
  const computer = server.connect({ fetch: network.fetch })
  const machine = await computer.machines.create()
  network.next('/stop', lose)
  assert.equal((await machine.stop()).state, 'stopped')
  network.next('/start', lose)
  assert.equal((await machine.start()).state, 'running')
  network.next('DELETE', lose)
  await machine.delete()
  await assert.rejects(machine.refresh(), { code: 'not_found' })
})

test('a request that is not idempotent is not retried', async () => {
  const network = createNetwork()
  const machine = await server.connect({ fetch: network.fetch }).machines.create()
  network.next('/exec', lose)
  await assert.rejects(machine.exec('true'), { code: 'connection_failed', status: 0 })
  network.next('/keyboard/type', lose)
  await assert.rejects(machine.keyboard.type('a'), { code: 'connection_failed' })
  network.next('/files/content', lose)
  await assert.rejects(machine.files.write('a', 'a', { append: true }), {
    code: 'connection_failed',
  })
  const paths = ['exec', 'keyboard/type', 'files/content']
  for (const path of paths) {
    assert.equal(network.sent.filter(({ what }) => what.endsWith(path)).length, 1, path)
  }
  network.next('/exec', answer(503, 'compute_unavailable'))
  await assert.rejects(machine.exec('true'), { code: 'compute_unavailable' })
})

test('compute_unavailable and rate limits are retried, up to a limit', async () => {
  const network = createNetwork()
  const computer = server.connect({ fetch: network.fetch, unavailableTimeoutMs: 500 })
  const machine = await computer.machines.create()
  network.next('/exec', answer(503, 'compute_unavailable', { 'retry-after': '0' }))
  network.next('/exec', answer(429, 'rate_limited', { 'retry-after': '0' }))
  assert.equal((await machine.exec(['echo', 'there'])).exitCode, 0)
  assert.equal(network.sent.filter(({ what }) => what.endsWith('/exec')).length, 3)

  network.next('/display', answer(503, 'compute_unavailable', { 'retry-after': '1' }))
  await assert.rejects(machine.display.get(), { code: 'compute_unavailable', status: 503 })
  network.next('/display', answer(429, 'rate_limited', { 'retry-after': '3600' }))
  await assert.rejects(machine.display.get(), { code: 'rate_limited', requestId: 'req_1' })
})

test('an unreachable server is named in the error, after some retries', async () => {
  const closed = createServer().listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const { port } = closed.address() as AddressInfo
  await new Promise((resolve) => closed.close(resolve))
  const computer = server.connect({ baseUrl: `http://127.0.0.1:${port}`, maxRetries: 1 })
  await assert.rejects(computer.me(), (error: ApiError) => {
    assert.equal(error.code, 'connection_failed')
    assert.match(error.message, new RegExp(`127.0.0.1:${port}: .*ECONNREFUSED`))
    return true
  })
})

test('a response that is not from the API is a connection error', async () => {
  const network = createNetwork()
  const computer = server.connect({ fetch: network.fetch, maxRetries: 0 })
  for (const body of ['<html>Bad gateway</html>', '{"error":"Bad gateway"}', '{}', 'null']) {
    network.next('/me', async () => new Response(body, { status: 502 }))
    const refusal = { code: 'connection_failed', status: 502, message: /HTTP 502/ }
    await assert.rejects(computer.me(), refusal, body)
  }
})

test('a signal aborts a call, its retries and its pauses', async () => {
  const network = createNetwork()
  const computer = server.connect({ fetch: network.fetch })
  const ending = new AbortController()
  network.next('/me', async (send) => {
    ending.abort(new Error('enough'))
    return send()
  })
  await assert.rejects(computer.me({ signal: ending.signal }), /enough/)
  const pausing = new AbortController()
  network.next('/me', async () => {
    setImmediate(() => pausing.abort(new Error('enough of that')))
    return answer(503, 'compute_unavailable', { 'retry-after': '30' })()
  })
  await assert.rejects(computer.me({ signal: pausing.signal }), /enough of that/)
})

test('an error carries all fields of the API error', async () => {
  const computer = server.connect()
  await assert.rejects(computer.machines.create({ name: 'Not A Name' }), (error: ApiError) => {
    assert.ok(error instanceof ApiError)
    assert.deepEqual([error.code, error.status], ['invalid_request', 400])
    assert.deepEqual(
      error.details.map(({ field }) => field),
      ['name'],
    )
    assert.ok(error.requestId)
    assert.equal(error.quota, null)
    return true
  })
  await assert.rejects(server.connect({ apiKey: 'wrong' }).me(), { code: 'unauthenticated' })
})

test('a quota error carries its numbers', async (t) => {
  const poor = await startServer(t, { plan: 'free' })
  const computer = poor.connect()
  await computer.machines.create({ start: false })
  await assert.rejects(computer.machines.create({ start: false }), (error: ApiError) => {
    assert.deepEqual([error.code, error.status], ['quota_exceeded', 402])
    const { limit, current, maximum, planId } = error.quota!
    assert.deepEqual([limit, current, maximum, planId], ['machines', 1, 1, 'free'])
    return true
  })
})

test('without an API key the error names the variable to set', async (t) => {
  const { COMPUTER_API_KEY } = process.env
  delete process.env['COMPUTER_API_KEY']
  t.after(() => void (COMPUTER_API_KEY && (process.env['COMPUTER_API_KEY'] = COMPUTER_API_KEY)))
  const computer = new Computer({ baseUrl: server.baseUrl })
  const named = { code: 'unauthenticated', status: 401, message: /COMPUTER_API_KEY/ }
  await assert.rejects(computer.me(), named)
  const signIn = computer.auth.logIn({ email: 'nobody@example.com', password: 'wrong' })
  await assert.rejects(signIn, { code: 'unauthenticated', message: 'wrong email or password' })
})
