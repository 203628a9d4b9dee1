import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { touchSockets } from '../src/domain/control/session-sockets.ts'
import { SessionSockets } from '../src/gateway/screen/session-sockets.ts'
import { startTestGateway } from './gateway.ts'
import { startTestServer } from './harness.ts'
import { untilSeen, view } from './screen-viewer.ts'
import { eventually } from './settled.ts'

/* Sessions with sockets: what the log says of them, and what ends them. */

const server = await startTestServer({ after })
const gateway = await startTestGateway({ after }, server.app)
const { db } = server.app
const [connected, disconnected] = ['session.connected', 'session.disconnected']

test('a session is disconnected with its last socket, at whichever gateway, and connected with the next', async (t) => {
  const { machineId, sessionId } = await openSession()
  const other = await startTestGateway(t, server.app)
  const wish = { session: sessionId }
  const first = await view(gateway, machineId, server.key, wish)
  const second = await view(other, machineId, server.key, wish)
  await noted(sessionId, 2)
  await first.socket.close()
  await noted(sessionId, 1)
  assert.deepEqual(await eventsOf(machineId, sessionId), [connected])
  await second.socket.close()
  await noted(sessionId, 0)
  assert.deepEqual(await eventsOf(machineId, sessionId), [connected, disconnected])

  const third = await view(gateway, machineId, server.key, wish)
  await noted(sessionId, 1)
  await server.call('DELETE', `/v1/sessions/${sessionId}`)
  assert.equal((await third.socket.closed).code, 4410)
  await noted(sessionId, 0)
  const expected = [connected, disconnected, connected, disconnected]
  assert.deepEqual(await eventsOf(machineId, sessionId), expected)
})

test('a gateway that stops says so; of one that is killed it is found out', async (t) => {
  const { machineId, sessionId } = await openSession()
  const other = await startTestGateway(t, server.app)
  const viewer = await view(other, machineId, server.key, { session: sessionId })
  await noted(sessionId, 1)
  await other.stop()
  assert.equal((await viewer.socket.closed).code, 1001)
  await noted(sessionId, 0)

  // What a gateway leaves that was killed a minute ago.
  await db
    .insertInto('session_sockets')
    .values({ session_id: sessionId as never })
    .execute()
  await db
    .updateTable('sessions')
    .set({ connected: true })
    .where('id', '=', sessionId as never)
    .execute()
  await age(sessionId)
  await noted(sessionId, 0)
  assert.deepEqual((await eventsOf(machineId, sessionId)).slice(-1), [disconnected])
})

test('a session with an open socket stays active', async () => {
  const { machineId, sessionId } = await openSession()
  const viewer = await view(gateway, machineId, server.key, { session: sessionId })
  await noted(sessionId, 1)
  const stateAfterMinutes = async () => {
    await db
      .updateTable('sessions')
      .set({ last_active_at: sql`now() - interval '10 minutes'` })
      .where('id', '=', sessionId as never)
      .execute()
    const sockets = await socketsOf(sessionId)
    if (sockets.length > 0) await touchSockets(db, sockets)
    const { body } = await server.call('GET', `/v1/sessions?machine_id=${machineId}`)
    return body.data[0].state
  }
  assert.equal(await stateAfterMinutes(), 'active')
  await viewer.socket.close()
  await noted(sessionId, 0)
  assert.equal(await stateAfterMinutes(), 'idle')
})

test('a gateway that was taken for dead notes its sockets again', async (t) => {
  const { machineId, sessionId } = await openSession()
  t.mock.timers.enable({ apis: ['setInterval'] })
  await using sockets = new SessionSockets(server.app)
  t.mock.timers.tick(0)
  const closing: (() => void)[] = []
  const connection = { onClose: (listener: () => void) => void closing.push(listener) }
  sockets.add(connection as never, { machineId, sessionId } as never)
  await noted(sessionId, 1)
  await db
    .deleteFrom('session_sockets')
    .where('session_id', '=', sessionId as never)
    .execute()
  t.mock.timers.tick(20_000)
  await noted(sessionId, 1)
  for (const close of closing) close()
  await noted(sessionId, 0)
})

test('sockets end with what they stand on; who only looks keeps looking without machines:control', async () => {
  const { id } = await server.machine()
  const key = await server.apiKey({ scopes: ['machines:control', 'sessions:write'] })
  const session = await key.call('POST', '/v1/sessions', { machine_id: id })
  const driving = await view(gateway, id, key.secret, { session: session.body.id })
  const looking = await view(gateway, id, key.secret)
  const seeing = await view(gateway, id, server.key)
  for (const viewer of [driving, looking, seeing]) await untilSeen(viewer, 0, 0, 0x20_30_40)

  await db
    .updateTable('api_keys')
    .set({ scopes: ['machines:read'] })
    .where('id', '=', key.id)
    .execute()
  server.app.changes.publish('any', 'principals')
  assert.equal((await driving.socket.closed).code, 4403)
  server.guest(id).screens.paint(0, 0, 0x00ff00)
  await untilSeen(looking, 0, 0, 0x00ff00)

  const owner = server.as(await server.user('owner'))
  await owner('DELETE', `/v1/api-keys/${key.id}`)
  assert.equal((await looking.socket.closed).code, 4401)
  await untilSeen(seeing, 0, 0, 0x00ff00)
  await server.call('DELETE', `/v1/machines/${id}`)
  assert.equal((await seeing.socket.closed).code, 4404)
})

async function openSession() {
  const { id: machineId } = await server.machine()
  const { body } = await server.call('POST', '/v1/sessions', { machine_id: machineId })
  return { machineId, sessionId: body.id as string }
}

/** Waits until that many sockets of the session are noted. */
async function noted(sessionId: string, count: number): Promise<void> {
  await eventually(async () => (await socketsOf(sessionId)).length === count || undefined)
}

async function socketsOf(sessionId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('session_sockets')
    .select('id')
    .where('session_id', '=', sessionId as never)
    .execute()
  return rows.map(({ id }) => id)
}

async function age(sessionId: string): Promise<void> {
  await db
    .updateTable('session_sockets')
    .set({ seen_at: sql`now() - interval '2 minutes'` })
    .where('session_id', '=', sessionId as never)
    .execute()
}

async function eventsOf(machineId: string, sessionId: string): Promise<string[]> {
  const { body } = await server.call('GET', `/v1/machines/${machineId}/events?limit=100`)
  return body.data
    .filter((event: { session_id: string | null }) => event.session_id === sessionId)
    .map((event: { type: string }) => event.type)
    .toReversed()
}
