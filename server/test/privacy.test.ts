import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import type { MachineId } from '@computer/contract'
import { sql } from 'kysely'
import { expireLeases, pushFence } from '../src/domain/control/leases.ts'
import type { Answer, Call } from './call.ts'
import { HandshakeRefused, startTestGateway } from './gateway.ts'
import { startTestServer } from './harness.ts'
import { acquire, landed } from './screen-driver.ts'
import { untilSeen, view } from './screen-viewer.ts'

/* While a holding is private, its session alone sees the screen and the clipboard. */

const server = await startTestServer({ after })
const gateway = await startTestGateway({ after }, server.app)
const { db } = server.app
const person = await server.apiKey()
const [red, blue] = [0xff0000, 0x0000ff]

/** A person's session takes the lease from whoever has it, and the screen is private to it. */
async function takePrivately(id: MachineId, { call }: { readonly call: Call } = person) {
  const session = await call('POST', '/v1/sessions', { machine_id: id, type: 'human' })
  const { id: sessionId } = session.body
  const lease = { session_id: sessionId, force: true }
  assert.equal((await call('POST', `/v1/machines/${id}/input-lease`, lease)).status, 200)
  await makePrivate(id)
  return sessionId as string
}

/** The holder's next holding is private. */
async function makePrivate(id: MachineId): Promise<void> {
  const lease = await db
    .updateTable('input_leases')
    .set({ fence: sql`fence + 1`, since_fence: sql`fence + 1` })
    .where('machine_id', '=', id)
    .returning('session_id')
    .executeTakeFirstOrThrow()
  await db
    .updateTable('sessions')
    .set({ private: true })
    .where('id', '=', lease.session_id!)
    .execute()
  server.app.changes.publish(id)
  await pushFence(server.app, await machineRow(id))
}

function machineRow(id: MachineId) {
  return db.selectFrom('machines').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
}

async function look(call: Call, id: MachineId): Promise<Answer[]> {
  const { screenId } = server.guest(id).desktop
  return Promise.all([
    call('GET', `/v1/machines/${id}/screenshot`),
    call('GET', `/v1/machines/${id}/screenshot`, undefined, { accept: 'image/png' }),
    call('GET', `/v1/machines/${id}/screen/wait?since=${screenId}&timeout_ms=0`),
    call('GET', `/v1/machines/${id}/clipboard`),
  ])
}

const statusesOf = (answers: readonly Answer[]) => answers.map(({ status }) => status)
const [allRefused, allAnswered] = [Array(4).fill(409), Array(4).fill(200)]

test('looks of others are conflicts that name the holder, until it is over', async () => {
  const { id } = await server.machine()
  const sessionId = await takePrivately(id)
  const refused = await look(server.call, id)
  assert.deepEqual(statusesOf(refused), allRefused)
  for (const { body } of refused) {
    assert.equal(body.error.code, 'conflict')
    assert.match(body.error.message, /^the screen is private to human session .*try again when/)
    assert.ok(body.error.message.includes(sessionId))
  }
  assert.deepEqual(statusesOf(await look(person.call, id)), allAnswered)
  const click = await person.call('POST', `/v1/machines/${id}/mouse/click?then=screenshot`, {})
  assert.equal(click.body.screenshot?.format, 'png')
  const copied = { text: 'password' }
  assert.equal((await person.call('PUT', `/v1/machines/${id}/clipboard`, copied)).status, 200)

  // A renewal keeps it.
  const renewed = { session_id: sessionId }
  await person.call('POST', `/v1/machines/${id}/input-lease`, renewed)
  assert.deepEqual(statusesOf(await look(server.call, id)), allRefused)

  await person.call('DELETE', `/v1/sessions/${sessionId}`)
  const answered = await look(server.call, id)
  assert.deepEqual(statusesOf(answered), allAnswered)
  assert.equal(answered[3]!.body.text, '')
})

test('a look that is under way ends when the screen becomes private', async () => {
  const { id } = await server.machine()
  const { screenId } = server.guest(id).desktop
  const path = `/v1/machines/${id}/screen/wait?since=${screenId}&timeout_ms=30000`
  const waiting = server.call('GET', path)
  await takePrivately(id)
  const { status, body } = await waiting
  assert.equal(status, 409)
  assert.match(body.error.message, /private to human session/)
})

test('a forced takeover and a grant after an expiry are not private', async () => {
  const { id } = await server.machine()
  await takePrivately(id)
  await server.lease(id, { force: true })
  for (const { call } of [server, person]) {
    assert.deepEqual(statusesOf(await look(call, id)), allAnswered)
  }

  const sessionId = await takePrivately(id)
  await expire(id)
  await expireLeases(server.app)
  assert.deepEqual(statusesOf(await look(server.call, id)), allAnswered)
  await takePrivately(id)
  await expire(id)
  assert.equal((await acquire(server, id, (await open(id)).id)).status, 200)
  assert.deepEqual(statusesOf(await look(server.call, id)), allAnswered)
  await person.call('DELETE', `/v1/sessions/${sessionId}`)
})

async function expire(id: MachineId): Promise<void> {
  await db
    .updateTable('input_leases')
    .set({ expires_at: sql`clock_timestamp() - interval '1 second'` })
    .where('machine_id', '=', id)
    .execute()
}

async function open(id: MachineId): Promise<{ id: string }> {
  return (await server.call('POST', '/v1/sessions', { machine_id: id })).body
}

test('an agent that was not notified of the end is, by the next look', async () => {
  const { id } = await server.machine()
  await takePrivately(id)
  await db
    .updateTable('input_leases')
    .set({ session_id: null, fence: sql`fence + 1`, since_fence: sql`fence + 1` })
    .where('machine_id', '=', id)
    .execute()
  for (const answer of await Promise.all([look(server.call, id), look(person.call, id)])) {
    assert.deepEqual(statusesOf(answer), allAnswered)
  }
})

test("a guest's session is nobody's own over HTTP, its opener's included", async () => {
  const { id } = await server.machine()
  const sessionId = await takePrivately(id, server)
  await db
    .updateTable('sessions')
    .set({ guest_name: 'Ada' })
    .where('id', '=', sessionId as never)
    .execute()
  const refused = await look(server.call, id)
  assert.deepEqual(statusesOf(refused), allRefused)
  assert.match(refused[0]!.body.error.message, /of the guest "Ada"/)
  const click = await server.call('POST', `/v1/machines/${id}/mouse/click`, {})
  assert.equal(click.status, 409)
  assert.deepEqual(landed(server, id), [])
  const renewal = await acquire(server, id, sessionId)
  assert.equal(renewal.body.error.code, 'permission_denied')
  const options = { session: sessionId }
  await assert.rejects(view(gateway, id, server.key, options), isRefused(403))
})

const isRefused = (status: number) => (error: unknown) =>
  error instanceof HandshakeRefused && error.status === status

test('the gateway shows a private screen to its session alone', async () => {
  const { id } = await server.machine()
  const { screens } = server.guest(id)
  const { sessionId } = await server.lease(id)
  const others = [
    await view(gateway, id, server.key),
    await view(gateway, id, person.secret),
    await view(gateway, id, server.key, { session: sessionId }),
  ]
  screens.paintAll(blue)
  for (const viewer of others) await untilSeen(viewer, 9, 9, blue)

  const own = { session: await takePrivately(id) }
  for (const { socket } of others) {
    const { code, reason } = await socket.closed
    assert.deepEqual([code, reason], [4409, 'the screen is private to the person who helps'])
  }
  const viewer = await view(gateway, id, person.secret, own)
  screens.paintAll(red)
  await untilSeen(viewer, 9, 9, red)
  for (const { rfb } of others) assert.equal(rfb.pixel(9, 9), blue)
  for (const secret of [server.key, person.secret]) {
    await assert.rejects(view(gateway, id, secret), isRefused(409))
  }
  await assert.rejects(view(gateway, id, server.key, { session: sessionId }), isRefused(409))

  // The framebuffer of the private time is shown to nobody else.
  await person.call('DELETE', `/v1/sessions/${own.session}`)
  await viewer.socket.closed
  screens.paintAll(blue)
  const next = await view(gateway, id, server.key)
  await next.rfb.until(() => next.rfb.width > 0 && next.rfb.pixel(9, 9) !== 0)
  assert.equal(next.rfb.pixel(9, 9), blue)
})

test('the connection of the person stays when the screen becomes private, and when it is over', async () => {
  const { id } = await server.machine()
  const { screens } = server.guest(id)
  const session = await person.call('POST', '/v1/sessions', { machine_id: id, type: 'human' })
  const viewer = await view(gateway, id, person.secret, { session: session.body.id })
  screens.paintAll(blue)
  await untilSeen(viewer, 9, 9, blue)
  const lease = { session_id: session.body.id }
  await person.call('POST', `/v1/machines/${id}/input-lease`, lease)
  await makePrivate(id)
  screens.paintAll(red)
  await untilSeen(viewer, 9, 9, red)
  await person.call('DELETE', `/v1/machines/${id}/input-lease?session_id=${session.body.id}`)
  const watcher = await view(gateway, id, server.key)
  screens.paintAll(blue)
  await untilSeen(viewer, 9, 9, blue)
  await untilSeen(watcher, 9, 9, blue)
})

test('a gateway that learns of it late shows nothing that is private', async (t) => {
  const { id } = await server.machine()
  const { screens } = server.guest(id)
  const late = await startLateGateway(t)
  const viewer = await view(late, id, server.key)
  screens.paintAll(blue)
  await untilSeen(viewer, 9, 9, blue)
  await takePrivately(id)
  screens.paintAll(red)
  const { code } = await viewer.socket.closed
  assert.equal(code, 4409)
  assert.equal(viewer.rfb.pixel(9, 9), blue)
})

/** Its rows change without notifications. */
function startLateGateway(t: TestContext) {
  const { app } = server
  const subscribe = () => () => {}
  const changes = new Proxy(app.changes, {
    get: (target, name) => (name === 'subscribe' ? subscribe : Reflect.get(target, name)),
  })
  return startTestGateway(t, { ...app, changes })
}
