import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { appendEvent } from '../src/domain/events/events.ts'
import { placeEvents } from '../src/domain/events/outbox.ts'
import { createMachine } from '../src/domain/machines/creation.ts'
import { newId } from '../src/ids.ts'
import { startTestGateway, type GatewayClient, type HandshakeRefused } from './gateway.ts'
import { startTestServer, type TestServer } from './harness.ts'

const bearer = ({ key }: TestServer) => ({ headers: { authorization: `Bearer ${key}` } })
const sequences = (client: GatewayClient) => client.controls.map(({ sequence }) => sequence)

test("a machine's events arrive in order and once, from any resume point", async (t) => {
  const server = await startTestServer(t)
  const gateway = await startTestGateway(t, server.app)
  const { id } = await server.machine({ start: false })
  const path = `/v1/machines/${id}/events`

  const fromStart = await gateway.connect(`${path}?after_sequence=-1`, bearer(server))
  const fromNow = await gateway.connect(path, bearer(server))
  const seen = await fromStart.until((client) =>
    client.controls.find(({ to_state }) => to_state === 'stopped'),
  )
  const answer = await server.call('POST', `/v1/machines/${id}/start?wait=30`)
  assert.equal(answer.body.state, 'running')
  const started = (client: GatewayClient) =>
    client.controls.some(({ type }) => type === 'machine.started')
  await fromStart.until(started)
  await fromNow.until(started)
  const after = Number(seen['sequence'])
  const resumed = await gateway.connect(`${path}?after_sequence=${after}`, bearer(server))
  await resumed.until(started)

  const all = sequences(fromStart).slice(0, 5)
  assert.deepEqual(
    all,
    [...all.keys()].map((index) => index + Number(all[0])),
  )
  assert.equal(sequences(resumed)[0], after + 1)
  assert.equal(sequences(fromNow)[0], after + 1)
  const log = await server.call('GET', `${path}?limit=100`)
  assert.deepEqual(
    fromStart.controls,
    log.body.data.toReversed().slice(0, fromStart.controls.length),
  )
})

test('an event whose transaction commits late gets a late position, and no reader misses it', async (t) => {
  const server = await startTestServer(t, { worker: false })
  const { db } = server.app
  const gateway = await startTestGateway(t, server.app)
  const [early, late] = [await insertMachine(server), await insertMachine(server)]
  await placeEvents(server.app)
  const client = await gateway.connect('/v1/events', bearer(server))

  const commit = Promise.withResolvers<void>()
  const written = Promise.withResolvers<void>()
  const held = db.transaction().execute(async (tx) => {
    await appendEvent(tx, late, { type: 'machine.updated', message: 'began first' })
    written.resolve()
    await commit.promise
  })
  await written.promise
  await db
    .transaction()
    .execute((tx) => appendEvent(tx, early, { type: 'machine.updated', message: 'began second' }))
  await placeEvents(server.app)
  await client.until(({ controls }) => controls.length === 1)
  commit.resolve()
  await held
  await placeEvents(server.app)
  await client.until(({ controls }) => controls.length === 2)

  assert.deepEqual(
    client.controls.map(({ message }) => message),
    ['began second', 'began first'],
  )
  const again = await gateway.connect(
    `/v1/events?after=${client.controls[0]!['cursor']}`,
    bearer(server),
  )
  await again.until(({ controls }) => controls.length === 1)
  assert.deepEqual(again.controls, client.controls.slice(1))
})

test('many writers, two outbox workers and reconnecting readers: every event once and in order', async (t) => {
  const server = await startTestServer(t, { worker: false })
  const { db } = server.app
  const gateway = await startTestGateway(t, server.app)
  const machines = await Promise.all(Array.from({ length: 8 }, () => insertMachine(server)))
  await placeEvents(server.app)
  const total = machines.length * 25
  const write = async (id: (typeof machines)[number]) => {
    for (let count = 0; count < 25; count++) {
      await db.transaction().execute(async (tx) => {
        await appendEvent(tx, id, { type: 'machine.updated' })
        await sql`select pg_sleep(random() * 0.003)`.execute(tx)
      })
    }
  }
  let isOver = false
  const place = async () => {
    while (!isOver || (await unplaced(server)) > 0) await placeEvents(server.app)
  }
  const steady = await gateway.connect('/v1/events', bearer(server))
  let cursor = await firstCursor(server)
  const placing = [place(), place()]
  const writing = Promise.all(machines.map(write)).then(() => (isOver = true))
  // A reader that disconnects after every few frames and resumes.
  const pieces: Record<string, unknown>[] = []
  while (pieces.length < total) {
    const client = await gateway.connect(`/v1/events?after=${cursor}`, bearer(server))
    const wanted = Math.min(17, total - pieces.length)
    await client.until(({ controls }) => controls.length >= wanted)
    const taken = client.controls.slice(0, wanted)
    pieces.push(...taken)
    cursor = String(taken.at(-1)!['cursor'])
    await client.close()
  }
  await Promise.all([writing, ...placing])
  await steady.until(({ controls }) => controls.length >= total)
  assert.deepEqual(steady.controls, pieces)
  for (const id of machines) {
    const own = pieces.filter(({ machine_id }) => machine_id === id).map(({ sequence }) => sequence)
    assert.deepEqual(
      own,
      [...own].sort((a, b) => Number(a) - Number(b)),
    )
    assert.equal(new Set(own).size, 25)
  }
})

test('another organization can follow neither the events of a machine nor of the organization', async (t) => {
  const server = await startTestServer(t)
  const gateway = await startTestGateway(t, server.app)
  const { id } = await server.machine({ start: false })
  const creator = await server.user('owner', 'stranger')
  const { secret } = await server.apiKey({ creator })
  const headers = { authorization: `Bearer ${secret}` }
  await assert.rejects(
    gateway.connect(`/v1/machines/${id}/events`, { headers }),
    (error: HandshakeRefused) => error.status === 404 && error.body.error.code === 'not_found',
  )
  const own = await gateway.connect('/v1/events?after=MA', { headers })
  const all = await gateway.connect('/v1/events?after=MA', bearer(server))
  await all.until(({ controls }) => controls.length > 0)
  assert.deepEqual(own.frames, [])
})

test('requests without a credential or a WebSocket get the error envelope', async (t) => {
  const server = await startTestServer(t, { worker: false })
  const gateway = await startTestGateway(t, server.app)
  await assert.rejects(
    gateway.connect('/v1/events'),
    (error: HandshakeRefused) =>
      error.status === 401 && error.body.error.code === 'unauthenticated',
  )
  const plain = await fetch(`${gateway.origin}/v1/events`, bearer(server))
  assert.equal(plain.status, 400)
  assert.match(((await plain.json()) as { error: { message: string } }).error.message, /WebSocket/)
})

test('the gateway closes its connections when it shuts down', async (t) => {
  const server = await startTestServer(t, { worker: false })
  const gateway = await startTestGateway(t, server.app)
  const client = await gateway.connect('/v1/events', bearer(server))
  await gateway.stop()
  assert.equal((await client.closed).code, 1001)
})

/** Only the row of a machine, which is enough to write events. */
async function insertMachine({ app, user }: TestServer) {
  const actor = await user('owner')
  const { id } = await createMachine(app, actor, newId('mch'), { metadata: {}, start: false })
  return id
}

async function unplaced({ app }: TestServer): Promise<number> {
  const { count } = await app.db
    .selectFrom('machine_events')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('position', 'is', null)
    .executeTakeFirstOrThrow()
  return count
}

async function firstCursor({ app }: TestServer): Promise<string> {
  const { last } = await app.db
    .selectFrom('event_positions')
    .select('last')
    .executeTakeFirstOrThrow()
  return Buffer.from(String(last)).toString('base64url')
}
