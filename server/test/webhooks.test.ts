import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { eventually } from '../../e2e/harness/polling.ts'
import { addKey } from '../src/domain/secrets/keyring-file.ts'
import { sweepWebhooks } from '../src/domain/webhooks/messages.ts'
import { rotateWebhookSecrets } from '../src/domain/webhooks/secret-rotation.ts'
import { loseAnswers } from './one-key.ts'
import { startReceiver, verify } from './webhook-receiver.ts'
import { startWebhookServer } from './webhook-stage.ts'

const { server, call, subscribe } = await startWebhookServer({ after })
const { db } = server.app

test('events and activity are delivered once, in signed messages with the ids of the logs', async (t) => {
  const { received, url } = await startReceiver(t)
  const { id: webhookId, secret } = await subscribe(t, url, {})
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
    const { data, timestamp } = verify(secret, message)
    assert.deepEqual(
      data,
      logged.find((entry) => entry.id === data.id),
    )
    assert.equal(message.headers['webhook-id'], data.id)
    assert.equal(timestamp, data.occurred_at)
  }
  const ids = received.map(({ headers }) => headers['webhook-id'])
  assert.equal(new Set(ids).size, ids.length)
  // The receiver has a message before its answer is noted.
  await eventually('all are delivered', async () => {
    const { body } = await call('GET', `/v1/webhooks/${webhookId}/deliveries?limit=100`)
    return body.data.every(({ state }: { state: string }) => state === 'delivered') || undefined
  })
})

test('a webhook gets only its types, of its machine', async (t) => {
  const { received, url } = await startReceiver(t)
  const [one, other] = [
    await server.machine({ start: false }),
    await server.machine({ start: false }),
  ]
  await subscribe(t, url, { types: ['machine.updated'], machine_id: one.id })
  for (const { id } of [other, one]) {
    await server.call('PATCH', `/v1/machines/${id}`, { metadata: { a: 'b' } })
    await server.call('POST', `/v1/machines/${id}/start?wait=20`)
  }
  await server.call('PATCH', `/v1/machines/${one.id}`, { metadata: { a: 'c' } })
  const { body: events } = await server.call('GET', `/v1/machines/${one.id}/events?limit=100`)
  const wanted = events.data.filter(({ type }: { type: string }) => type === 'machine.updated')
  // The start is an update, too.
  assert.equal(wanted.length, 3)
  await eventually('all have arrived', async () => received.length >= wanted.length || undefined)
  // The order of messages is not that of the events.
  assert.deepEqual(
    received.map(({ headers }) => headers['webhook-id']).toSorted(),
    wanted.map(({ id }: { id: string }) => id).toSorted(),
  )
})

test('for a day after a rotation messages are signed with both secrets', async (t) => {
  const { received, url } = await startReceiver(t)
  const { id, secret: former } = await subscribe(t, url)
  const { body: rotated } = await call('POST', `/v1/webhooks/${id}/rotate`)
  assert.notEqual(rotated.secret, former)
  assert.equal((await call('GET', `/v1/webhooks/${id}`)).body.secret, null)
  const send = async (count: number) => {
    await call('POST', `/v1/webhooks/${id}/test`)
    await eventually('it has arrived', async () => received.length === count || undefined)
    return received.at(-1)!
  }
  const both = await send(1)
  for (const secret of [rotated.secret, former])
    assert.equal(verify(secret, both).data.id, both.headers['webhook-id'])
  await db
    .updateTable('webhooks')
    .set({ former_until: sql`clock_timestamp()` })
    .where('id', '=', id)
    .execute()
  const one = await send(2)
  assert.equal(verify(rotated.secret, one).type, 'webhook.test')
  assert.throws(() => verify(former, one), /signature/)
  await sweepWebhooks(db)
  const { former_sealed: sealed } = await db
    .selectFrom('webhooks')
    .select('former_sealed')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  assert.equal(sealed, null, 'it is erased')
})

test('after a new key of the keyring, messages are signed with the same secret', async (t) => {
  const { received, url } = await startReceiver(t)
  const { id, secret } = await subscribe(t, url)
  await call('POST', `/v1/webhooks/${id}/rotate`)
  const keyring = await addKey(server.app.config.keyringPath)
  const { rotated, unopened } = await rotateWebhookSecrets(server.app, keyring)
  assert.ok(rotated > 0)
  assert.deepEqual(unopened, [])
  assert.equal((await rotateWebhookSecrets(server.app, keyring)).rotated, 0)
  await call('POST', `/v1/webhooks/${id}/test`)
  await eventually('it has arrived', async () => received.length === 1 || undefined)
  assert.equal(verify(secret, received[0]!).type, 'webhook.test')
})

test('webhooks belong to their organization, and need a permission of their own', async (t) => {
  const { url } = await startReceiver(t)
  const { id } = await subscribe(t, url)
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

test('a webhook whose creation was not answered gets a new secret, and is one', async () => {
  const headers = { 'idempotency-key': randomUUID() }
  const create = () => call('POST', '/v1/webhooks', { url: 'https://example.com/lost' }, headers)
  const first = await create()
  await loseAnswers(db)
  const second = await create()
  assert.equal(second.body.id, first.body.id)
  assert.notEqual(second.body.secret, first.body.secret)
  assert.equal((await create()).body.secret, second.body.secret)
  await call('DELETE', `/v1/webhooks/${first.body.id}`)
})

test('a webhook ends with its organization, and with what was to be delivered', async () => {
  const owner = await server.signUp()
  const { body: organization } = await owner.call('POST', '/v1/organizations', { name: 'Short' })
  await owner.call('POST', '/v1/auth/switch-organization', { organization_id: organization.id })
  const { body: webhook } = await owner.call('POST', '/v1/webhooks', {
    url: 'https://webhooks.invalid/',
  })
  await owner.call('POST', `/v1/webhooks/${webhook.id}/test`)
  const { status } = await owner.call('DELETE', `/v1/organizations/${organization.id}`)
  assert.equal(status, 204)
  for (const table of ['webhooks', 'webhook_deliveries'] as const) {
    const column = table === 'webhooks' ? 'id' : 'webhook_id'
    const left = await db.selectFrom(table).select('id').where(column, '=', webhook.id).execute()
    assert.deepEqual(left, [], table)
  }
})

test('an organization has at most 50 webhooks', async () => {
  const owner = await server.signUp()
  const create = () => owner.call('POST', '/v1/webhooks', { url: 'https://example.com/hook' })
  for (let count = 0; count < 50; count++) assert.equal((await create()).status, 201)
  const refused = await create()
  assert.equal(refused.status, 409)
  assert.match(refused.body.error.message, /at most 50 webhooks; delete one first/)
})
