import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { eventually } from '../../e2e/harness/polling.ts'
import { startRawReceiver, startReceiver, verify } from './webhook-receiver.ts'
import { startWebhookServer } from './webhook-stage.ts'

/* Receivers that do not do what receivers should. */

const timing = { webhookAnswerMs: 1_000 }
const stage = await startWebhookServer({ after }, { timing })
const { server, call, subscribe, sendTest, newestDelivery, outcome } = stage
const { db } = server.app

type Behaviour = Parameters<typeof startRawReceiver>[1]

const noAnswer = 'no answer within 1 seconds'
const accepted = { state: 'delivered', last_status: 200, last_error: null }
const refused = (reason: string) => ({ state: 'pending', last_status: null, last_error: reason })
const head = 'HTTP/1.1 200 OK\r\n'

const behaviours: Readonly<Record<string, readonly [Behaviour, object]>> = {
  'says nothing': [() => {}, refused(noAnswer)],
  'closes the connection': [(_, end) => end(), refused('the connection broke off')],
  'closes it in the middle of the headers': [
    (say, end) => {
      say(`${head}content-le`)
      setImmediate(end)
    },
    refused('the connection broke off'),
  ],
  'begins headers that never end': [(say) => say(`${head}a: b\r\n`), refused(noAnswer)],
  'sends huge headers': [
    (say) => say(`${head}a: ${'x'.repeat(20_000)}\r\n\r\n`),
    refused('the answer is not valid HTTP'),
  ],
  'sends headers without an end': [
    (say) => {
      say(head)
      forever(() => say(`a: ${'x'.repeat(1_000)}\r\n`))
    },
    refused('the answer is not valid HTTP'),
  ],
  'speaks another protocol': [
    (say) => say('220 mail.example ESMTP\r\n'),
    refused('the answer is not valid HTTP'),
  ],
  'announces answers and gives none': [
    (say) => forever(() => say('HTTP/1.1 102 Processing\r\n\r\n')),
    refused(noAnswer),
  ],
  'switches to another protocol': [
    (say) => say('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
    refused('the connection broke off'),
  ],
  'accepts, with a body that never ends': [
    (say) => {
      say(`${head}transfer-encoding: chunked\r\n\r\n`)
      forever(() => say(`1000\r\n${'x'.repeat(0x1000)}\r\n`))
    },
    accepted,
  ],
  'accepts, with a body that never comes': [
    (say) => say(`${head}content-length: 9\r\n\r\n`),
    accepted,
  ],
  'accepts, and closes in the middle of its body': [
    (say, end) => {
      say(`${head}content-length: 9\r\n\r\nabc`)
      setImmediate(end)
    },
    accepted,
  ],
  'accepts, with a body that is no HTTP': [
    (say) => say(`${head}transfer-encoding: chunked\r\n\r\nnonsense`),
    accepted,
  ],
}

for (const [what, [behaviour, expected]] of Object.entries(behaviours)) {
  test(`a receiver that ${what}`, async (t) => {
    const { url } = await startRawReceiver(t, behaviour)
    const { id } = await subscribe(t, url)
    await sendTest(id)
    const { state, last_status, last_error } = await outcome(id)
    assert.deepEqual({ state, last_status, last_error }, expected)
  })
}

test('a redirect is an answer that is not accepted, and is not followed', async (t) => {
  const { received, url: elsewhere } = await startReceiver(t)
  for (const status of [301, 302, 303, 307, 308]) {
    const { url } = await startReceiver(t, (response) =>
      response.writeHead(status, { location: elsewhere }).end(),
    )
    const { id } = await subscribe(t, url)
    await sendTest(id)
    const delivery = await outcome(id)
    assert.deepEqual([delivery.state, delivery.last_status], ['pending', status])
  }
  assert.equal(received.length, 0)
})

test('a receiver that answers too late gets the message again, with its id', async (t) => {
  const late: (() => void)[] = []
  const { received, url } = await startReceiver(t, (response, count) => {
    if (count === 1) late.push(() => response.end())
    else response.end()
  })
  const { id, secret } = await subscribe(t, url)
  const { id: deliveryId } = await sendTest(id)
  assert.equal((await outcome(id)).last_error, noAnswer)
  late[0]!()
  assert.equal((await newestDelivery(id)).state, 'pending', 'the late answer counts for nothing')
  await call('POST', `/v1/webhooks/${id}/deliveries/${deliveryId}/retry`)
  await eventually('it is accepted', async () => (await newestDelivery(id)).state === 'delivered')
  const [first, second] = received.map((message) => verify(secret, message))
  assert.deepEqual(second, first)
})

test('a connection that the receiver closed after an answer is replaced without a failure', async (t) => {
  const { url } = await startRawReceiver(t, (say, end) => {
    say(`${head}content-length: 0\r\n\r\n`)
    // Only the next message finds that it is closed.
    setTimeout(end, 5)
  })
  const { id } = await subscribe(t, url)
  for (let count = 0; count < 20; count++) {
    await sendTest(id)
    const isOver = async () => (await newestDelivery(id)).state !== 'pending'
    await eventually('it has an outcome', isOver, { everyMs: 5 })
    assert.equal((await newestDelivery(id)).attempts, 1)
  }
})

test('receivers that hang keep no others waiting', async (t) => {
  const { url: hanging } = await startRawReceiver(t, () => {})
  const webhooks = await Promise.all(Array.from({ length: 40 }, () => subscribe(t, hanging)))
  const ids = webhooks.map(({ id }) => id)
  await sql`
    insert into webhook_deliveries (id, webhook_id, message_id, type, payload)
    select 'whd_' || id || number, id, 'tst_' || number, 'webhook.test', '{}'
    from unnest(${ids}::text[]) as id, generate_series(1, 20) as number`.execute(db)
  const { received, url } = await startReceiver(t)
  const { id } = await subscribe(t, url)
  await sendTest(id)
  await eventually('it is there', async () => received.length === 1)
  const { count } = await db
    .selectFrom('webhook_deliveries')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('webhook_id', 'in', ids)
    .where('attempts', '=', 0)
    .executeTakeFirstOrThrow()
  assert.ok(count > 0, 'before all others were tried')
})

/** Repeats until the sender has closed the connection. */
function forever(say: () => boolean): void {
  const timer = setInterval(() => {
    if (!say()) clearInterval(timer)
  }, 1)
}
