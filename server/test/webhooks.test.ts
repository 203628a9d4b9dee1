import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { after, test, type TestContext } from 'node:test'
import { sql } from 'kysely'
import { eventually } from '../../e2e/harness/polling.ts'
import { addKey } from '../src/domain/secrets/keyring-file.ts'
import { rotateWebhookSecrets } from '../src/domain/webhooks/secret-rotation.ts'
import { startTestServer } from './harness.ts'

const server = await startTestServer({ after }, { env: { COMPUTER_WEBHOOK_NETWORKS: '127.0.0.1' } })
const { db } = server.app
/** A person, because no API key may create what acts in its stead. */
const call = server.as(await server.user('owner'))

type Received = {
  readonly headers: IncomingMessage['headers']
  readonly payload: string
  readonly type: string
}

/** A receiver that answers as the test says, and keeps what it gets. */
async function startReceiver(
  t: TestContext,
  answer: (response: ServerResponse, count: number) => void = (response) => response.end(),
) {
  const received: Received[] = []
  const http = createServer((request, response) => {
    let payload = ''
    request.setEncoding('utf8').on('data', (text: string) => (payload += text))
    request.once('end', () => {
      const { type } = JSON.parse(payload) as { type: string }
      received.push({ headers: request.headers, payload, type })
      answer(response, received.length)
    })
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  t.after(() => {
    http.closeAllConnections()
    http.close()
  })
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/hook`
  return { received, url }
}

async function subscribe(url: string, more: object = {}) {
  const { status, body } = await call('POST', '/v1/webhooks', { url, ...more })
  assert.equal(status, 201, JSON.stringify(body))
  return body as { id: string; secret: string }
}

function signatureOf(secret: string, { headers, payload }: Received): string {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${payload}`
  return `v1,${createHmac('sha256', key).update(content).digest('base64')}`
}

test('events and activity are delivered once, in signed messages with the ids of the logs', async (t) => {
  const { received, url } = await startReceiver(t)
  const { id: webhookId, secret } = await subscribe(url)
  const { id } = await server.machine()
  await server.lease(id)
  await server.call('POST', `/v1/machines/${id}/mouse/move`, { x: 1, y: 2 })
  await eventually('all have arrived', async () => {
    const types = received.map(({ type }) => type)
    return (types.includes('machine.ready') && types.includes('mouse.moved')) || undefined
  })
  const { body: events } = await server.call('GET', `/v1/machines/${id}/events?limit=100`)
  const { body: activity } = await server.call('GET', `/v1/machines/${id}/activity?limit=100`)
  const logged = [...events.data, ...activity.data]
  for (const message of received) {
    assert.equal(message.headers['webhook-signature'], signatureOf(secret, message))
    const { data, timestamp } = JSON.parse(message.payload)
    assert.deepEqual(
      data,
      logged.find((entry) => entry.id === data.id),
    )
    assert.equal(message.headers['webhook-id'], data.id)
    assert.equal(timestamp, data.occurred_at)
  }
  const ids = received.map(({ headers }) => headers['webhook-id'])
  assert.equal(new Set(ids).size, ids.length)
  const { body } = await call('GET', `/v1/webhooks/${webhookId}/deliveries?limit=100`)
  assert.ok(body.data.every(({ state }: { state: string }) => state === 'delivered'))
  await call('DELETE', `/v1/webhooks/${webhookId}`)
})

test('a webhook gets only its types, of its machine', async (t) => {
  const { received, url } = await startReceiver(t)
  const [one, other] = [
    await server.machine({ start: false }),
    await server.machine({ start: false }),
  ]
  await subscribe(url, { types: ['machine.updated'], machine_id: one.id })
  for (const { id } of [other, one]) {
    await server.call('PATCH', `/v1/machines/${id}`, { metadata: { a: 'b' } })
    await server.call('POST', `/v1/machines/${id}/start?wait=20`)
  }
  await eventually('one has arrived', async () => received.length > 0 || undefined)
  await server.call('PATCH', `/v1/machines/${one.id}`, { metadata: { a: 'c' } })
  await eventually('the other, too', async () => received.length > 1 || undefined)
  assert.deepEqual(
    received.map(({ payload }) => JSON.parse(payload).data.machine_id),
    [one.id, one.id],
  )
})

test('a message that fails is sent again with its id, later each time, and by hand at once', async (t) => {
  const { received, url } = await startReceiver(t, (response, count) => {
    response.statusCode = count <= 2 ? 500 : 204
    response.end('no')
  })
  const { id, secret } = await subscribe(url, { types: ['webhook.test'] })
  const { body: queued, status } = await call('POST', `/v1/webhooks/${id}/test`)
  assert.deepEqual([status, queued.type, queued.state], [202, 'webhook.test', 'pending'])
  const path = `/v1/webhooks/${id}/deliveries`
  const read = async () => (await call('GET', path)).body.data[0]
  const failed = await eventually('it has failed', async () => {
    const delivery = await read()
    return delivery.last_status === 500 ? delivery : undefined
  })
  const waits = Date.parse(failed.next_attempt_at) - Date.now()
  assert.ok(waits > 2_000 && waits < 6_000, `${waits} ms`)
  for (const state of ['pending', 'delivered']) {
    await call('POST', `${path}/${failed.id}/retry`)
    await eventually('it is tried again', async () => {
      const delivery = await read()
      return (delivery.state === state && delivery.attempts === received.length) || undefined
    })
  }
  assert.equal(new Set(received.map(({ headers }) => headers['webhook-id'])).size, 1)
  for (const message of received)
    assert.equal(message.headers['webhook-signature'], signatureOf(secret, message))
  const since = new Date(Date.now() - 60_000).toISOString()
  const replay = await call('POST', `/v1/webhooks/${id}/replay`, { since })
  assert.deepEqual(replay.body, { replayed: 1 })
  await eventually('it was replayed', async () => received.length === 4 || undefined)
})

test('for a day after a rotation messages are signed with both secrets', async (t) => {
  const { received, url } = await startReceiver(t)
  const { id, secret: former } = await subscribe(url, { types: ['webhook.test'] })
  const { body: rotated } = await call('POST', `/v1/webhooks/${id}/rotate`)
  assert.notEqual(rotated.secret, former)
  assert.equal((await call('GET', `/v1/webhooks/${id}`)).body.secret, null)
  const send = async (count: number) => {
    await call('POST', `/v1/webhooks/${id}/test`)
    await eventually('it has arrived', async () => received.length === count || undefined)
    return received.at(-1)!
  }
  const both = await send(1)
  const signatures = [signatureOf(rotated.secret, both), signatureOf(former, both)]
  assert.equal(both.headers['webhook-signature'], signatures.join(' '))
  await db
    .updateTable('webhooks')
    .set({ former_until: sql`clock_timestamp()` })
    .where('id', '=', id as `whk_${string}`)
    .execute()
  const one = await send(2)
  assert.equal(one.headers['webhook-signature'], signatureOf(rotated.secret, one))
})

test('after a new key of the keyring, messages are signed with the same secret', async (t) => {
  const { received, url } = await startReceiver(t)
  const { id, secret } = await subscribe(url, { types: ['webhook.test'] })
  await call('POST', `/v1/webhooks/${id}/rotate`)
  const keyring = await addKey(server.app.config.keyringPath)
  const { rotated, unopened } = await rotateWebhookSecrets(server.app, keyring)
  assert.ok(rotated > 0)
  assert.deepEqual(unopened, [])
  assert.equal((await rotateWebhookSecrets(server.app, keyring)).rotated, 0)
  await call('POST', `/v1/webhooks/${id}/test`)
  await eventually('it has arrived', async () => received.length === 1 || undefined)
  const [message] = received
  const signatures = String(message!.headers['webhook-signature']).split(' ')
  assert.equal(signatures[1], signatureOf(secret, message!))
})

test('a receiver that is gone, or has failed for five days, is disabled, and can be enabled again', async (t) => {
  const { received, url } = await startReceiver(t, (response, count) => {
    response.statusCode = count === 1 ? 410 : count === 2 ? 500 : 200
    response.end()
  })
  const { id } = await subscribe(url, { types: ['webhook.test'] })
  const read = async () => (await call('GET', `/v1/webhooks/${id}`)).body
  const isDisabled = (reason: string) =>
    eventually(reason, async () => (await read()).disabled_reason === reason || undefined)
  await call('POST', `/v1/webhooks/${id}/test`)
  await isDisabled('gone')
  const { body: enabled } = await call('PATCH', `/v1/webhooks/${id}`, { enabled: true })
  assert.deepEqual([enabled.enabled, enabled.disabled_reason], [true, null])
  await db
    .updateTable('webhooks')
    .set({ failing_since: sql`clock_timestamp() - interval '5 days 1 minute'` })
    .where('id', '=', id as `whk_${string}`)
    .execute()
  await call('POST', `/v1/webhooks/${id}/test`)
  await isDisabled('failing')
  await call('PATCH', `/v1/webhooks/${id}`, { enabled: true })
  await call('POST', `/v1/webhooks/${id}/test`)
  await eventually('it is delivered', async () => received.length >= 3 || undefined)
})

test('private networks, redirects, answers without an end and silence deliver nothing', async (t) => {
  const redirected = await startReceiver(t)
  const kinds: readonly ((response: ServerResponse) => void)[] = [
    (response) => response.writeHead(302, { location: redirected.url }).end(),
    (response) => response.destroy(),
    (response) => response.writeHead(200, { a: 'x'.repeat(20_000) }).end(),
  ]
  for (const kind of kinds) {
    const { url } = await startReceiver(t, kind)
    const { id } = await subscribe(url, { types: ['webhook.test'] })
    await call('POST', `/v1/webhooks/${id}/test`)
    await eventually('it has failed', async () => {
      const { body } = await call('GET', `/v1/webhooks/${id}/deliveries`)
      const { last_status: status, last_error: error, state } = body.data[0]
      return (state === 'pending' && (status === 302 || error !== null)) || undefined
    })
  }
  assert.equal(redirected.received.length, 0)
  for (const url of [
    'https://10.0.0.1/',
    'https://[::1]/',
    'https://[::ffff:10.0.0.1]/',
    'https://169.254.169.254/latest',
    'https://0x7f.1.1.1/',
    'ftp://example.com/',
    'nonsense',
  ]) {
    const { status } = await call('POST', '/v1/webhooks', { url })
    assert.equal(status, 400, url)
  }
})

test('webhooks belong to their organization, and need a permission of their own', async (t) => {
  const { url } = await startReceiver(t)
  const { id } = await subscribe(url)
  const stranger = server.as(await server.user('owner', 'stranger'))
  for (const [method, path] of [
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/rotate'],
    ['POST', '/test'],
    ['GET', '/deliveries'],
  ] as const) {
    const body = method === 'PATCH' ? { enabled: false } : undefined
    assert.equal((await stranger(method, `/v1/webhooks/${id}${path}`, body)).status, 404, path)
  }
  const member = server.as(await server.user('member'))
  assert.equal((await member('GET', '/v1/webhooks')).status, 403)
  assert.equal((await server.call('GET', '/v1/webhooks')).status, 403, 'an API key')
  const { body } = await call('GET', '/v1/audit-events?type=webhook.created')
  assert.equal(body.data[0].target.name, new URL(url).host)
})
