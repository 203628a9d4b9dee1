import type { WebhookDeliveryId, WebhookId } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { eventually } from '../../e2e/harness/polling.ts'
import { startSmtpServer } from './smtp-server.ts'
import { startReceiver, verify } from './webhook-receiver.ts'
import { startWebhookServer } from './webhook-stage.ts'

/* What becomes of messages that a receiver does not accept, and of the webhook. */

const smtp = await startSmtpServer({ after })
const env = { COMPUTER_SMTP_URL: smtp.url }
const stage = await startWebhookServer({ after }, { env })
const { server, call, subscribe, sendTest, newestDelivery, outcome } = stage
const { db } = server.app

const hour = 3_600
/** In seconds, as Standard Webhooks 1.0 recommends. */
const waits = [5, 300, 1_800, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour]

test('a message that fails is sent again ever later with its id, and has failed after ten attempts', async (t) => {
  const { received, url } = await startReceiver(t, (response) => response.writeHead(503).end())
  const { id, secret } = await subscribe(t, url)
  const { id: deliveryId } = await sendTest(id)
  for (const [index, wait] of waits.entries()) {
    const before = await databaseTime()
    if (index > 0) await makeDue(deliveryId)
    const delivery = await eventually('the attempt has failed', async () => {
      const { failures, ...row } = await readRow(deliveryId)
      return failures === index + 1 && row
    })
    const next = delivery.next_attempt_at!.getTime()
    assert.equal(delivery.state, 'pending')
    assert.ok(next >= before + 1000 * wait, 'not earlier')
    assert.ok(next <= (await databaseTime()) + 1100 * wait, 'later by a tenth at most')
  }
  await makeDue(deliveryId)
  const failed = await eventually('it has failed', async () => {
    const delivery = await newestDelivery(id)
    return delivery.state === 'failed' && delivery
  })
  assert.deepEqual([failed.attempts, failed.last_status, failed.next_attempt_at], [10, 503, null])
  assert.equal(received.length, 10)
  for (const message of received) assert.equal(verify(secret, message).data.id, failed.message_id)
})

test('a message is sent again by hand, with its id, also while an attempt is on its way', async (t) => {
  const waiting: (() => void)[] = []
  const { received, url } = await startReceiver(t, (response, count) => {
    if (count === 1) waiting.push(() => response.writeHead(500).end())
    else response.end()
  })
  const { id, secret } = await subscribe(t, url)
  const { id: deliveryId } = await sendTest(id)
  await eventually('the first is there', async () => waiting.length === 1)
  const path = `/v1/webhooks/${id}`
  await call('POST', `${path}/deliveries/${deliveryId}/retry`)
  waiting[0]!()
  const isDelivered = async () => (await newestDelivery(id)).state === 'delivered'
  await eventually('the second is accepted', isDelivered)
  assert.equal((await call('POST', `${path}/deliveries/${deliveryId}/retry`)).status, 202)
  await eventually('the third is there', async () => received.length === 3)
  await eventually('it is accepted', isDelivered)

  const since = new Date(Date.now() - 60_000).toISOString()
  const failed = await call('POST', `${path}/replay`, { since, state: 'failed' })
  assert.deepEqual(failed.body, { replayed: 0 })
  const all = await call('POST', `${path}/replay`, { since })
  assert.deepEqual(all.body, { replayed: 1 })
  await eventually('the fourth is there', async () => received.length === 4)
  const ids = received.map((message) => verify(secret, message).data.id)
  assert.equal(new Set(ids).size, 1)
  const future = new Date(Date.now() + 60_000).toISOString()
  assert.equal((await call('POST', `${path}/replay`, { since: future })).status, 400)
})

test('a receiver that says that it is gone is disabled at once, with one mail, until it is enabled', async (t) => {
  const held: (() => void)[] = []
  const { received, url } = await startReceiver(t, (response, count) => {
    if (count > 2) return response.end()
    held.push(() => response.writeHead(410).end())
    if (count === 2) for (const answer of held) answer()
  })
  const owner = await server.signUp()
  const { body: webhook } = await owner.call('POST', '/v1/webhooks', { url })
  const path = `/v1/webhooks/${webhook.id}`
  await Promise.all([1, 2].map(() => owner.call('POST', `${path}/test`)))
  await eventually('it is disabled', async () => {
    const { body } = await owner.call('GET', path)
    return body.disabled_reason === 'gone'
  })
  for (const [what, body] of [
    ['test', undefined],
    ['replay', { since: new Date(0).toISOString() }],
  ] as const) {
    const refused = await owner.call('POST', `${path}/${what}`, body)
    assert.equal(refused.status, 409)
    assert.match(refused.body.error.message, /is disabled.*enable it first/)
  }
  await expectMail(owner.email, /answered that it is gone/)
  const { body: enabled } = await owner.call('PATCH', path, { enabled: true })
  assert.deepEqual(
    [enabled.enabled, enabled.disabled_reason, enabled.failing_since],
    [true, null, null],
  )
  await owner.call('POST', `${path}/test`)
  await eventually('it gets messages', async () => received.length > 2)
})

test('a receiver that accepts nothing for five days is disabled, with a mail, and not a day earlier', async (t) => {
  const { url } = await startReceiver(t, (response) => response.writeHead(500).end())
  const owner = await server.signUp()
  const { body: webhook } = await owner.call('POST', '/v1/webhooks', { url })
  const path = `/v1/webhooks/${webhook.id}`
  const read = async () => (await owner.call('GET', path)).body
  const failFor = async (days: number) => {
    await failingSince(webhook.id, days)
    const { body } = await owner.call('POST', `${path}/test`)
    await eventually('it has failed', async () => (await readRow(body.id)).failures === 1)
  }
  await failFor(4)
  assert.equal((await read()).enabled, true)
  await failFor(5.01)
  await eventually('it is disabled', async () => (await read()).disabled_reason === 'failing')
  await expectMail(owner.email, /Nothing could be delivered to it for five days/)
})

test('an accepted message ends the count of days, and a new address begins without one', async (t) => {
  const { url } = await startReceiver(t)
  const { id } = await subscribe(t, url)
  const read = async () => (await call('GET', `/v1/webhooks/${id}`)).body.failing_since
  await failingSince(id, 4)
  assert.notEqual(await read(), null)
  await sendTest(id)
  await eventually('it is reset', async () => (await read()) === null)
  await failingSince(id, 4)
  await call('PATCH', `/v1/webhooks/${id}`, { url: `${url}/other` })
  assert.equal(await read(), null)
})

test('without the key of its secret, nothing is sent unsigned', async (t) => {
  const { received, url } = await startReceiver(t)
  const { id } = await subscribe(t, url)
  await db
    .updateTable('webhooks')
    .set({ secret_sealed: Buffer.alloc(100, 1) })
    .execute()
  await sendTest(id)
  assert.match((await outcome(id)).last_error!, /lacks the key/)
  assert.equal(received.length, 0)
})

async function databaseTime(): Promise<number> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db)
  return rows[0]!.now.getTime()
}

async function readRow(id: WebhookDeliveryId) {
  return db
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
}

async function makeDue(id: WebhookDeliveryId): Promise<void> {
  await db
    .updateTable('webhook_deliveries')
    .set({ next_attempt_at: sql`clock_timestamp()` })
    .where('id', '=', id)
    .execute()
}

async function failingSince(id: WebhookId, days: number): Promise<void> {
  await db
    .updateTable('webhooks')
    .set({ failing_since: sql`clock_timestamp() - make_interval(secs => ${days * 86_400})` })
    .where('id', '=', id)
    .execute()
}

async function expectMail(address: string, text: RegExp): Promise<void> {
  const mailsTo = () =>
    smtp.letters.filter(
      ({ recipients, headers }) =>
        recipients.includes(address) && /webhook/.test(headers.get('subject') ?? ''),
    )
  const letters = await eventually('the mail is there', async () => {
    const found = mailsTo()
    return found.length > 0 && found
  })
  assert.equal(letters.length, 1)
  assert.match(letters[0]!.body, text)
}
