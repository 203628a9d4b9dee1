import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { sql } from 'kysely'
import { startTestGateway } from './gateway.ts'
import { startTestServer } from './harness.ts'
import { acquire, connected, drive, landed, settledBy, untilLanded } from './screen-driver.ts'
import { controlsOf, untilControl, view } from './screen-viewer.ts'
import { eventually } from './settled.ts'

/* R5: no input of a holder is applied once a takeover has returned, and renewals lose no input. */

const server = await startTestServer({ after })
const gateway = await startTestGateway({ after }, server.app)
const { a, b } = { a: 0x61, b: 0x62 }

test('a renewal loses no input, whether the client names the new fence or not', async () => {
  const { id } = await server.machine()
  const { viewer, sessionId, fence } = await drive(server, gateway, id)
  const hold = server.guest(id).desktop.holdInput()
  viewer.rfb.key(a, true)
  const drag = { from: { x: 0, y: 0 }, to: { x: 9, y: 9 }, steps: 2 }
  await untilLanded(server, id, (events) => events.length === 1)
  const dragging = server.call('POST', `/v1/machines/${id}/mouse/drag`, drag)
  await hold.reached
  // The key waits in the machine behind the drag while the renewal arrives.
  viewer.rfb.key(a, false)
  await eventually(async () => server.guest(id).screens.inputs === 2 || undefined)
  assert.equal((await acquire(server, id, sessionId)).body.fence, fence + 1)
  hold.release()
  await dragging
  viewer.rfb.key(b, true)
  await untilControl(viewer, 'lease', (lease) => lease['fence'] === fence + 1)
  viewer.rfb.key(b, false)
  viewer.socket.send({ type: 'input_fence', fence: fence + 1 })
  viewer.rfb.key(a, true)
  await untilLanded(
    server,
    id,
    (events) => events.filter((event) => event === 'press a').length === 2,
  )
  const keys = landed(server, id).filter((event) => / [ab]$/.test(event))
  assert.deepEqual(keys, ['press a', 'release a', 'press b', 'release b', 'press a'])
  assert.deepEqual(controlsOf(viewer, 'lease_lost'), [])
})

test('a takeover drops input that waits in the machine, and sends lease_lost once', async () => {
  const { id } = await server.machine()
  const { viewer, fence } = await drive(server, gateway, id)
  const { desktop, screens } = server.guest(id)
  const hold = desktop.holdInput()
  viewer.rfb.key(a, true)
  await untilLanded(server, id, (events) => events.length === 1)
  const drag = { from: { x: 0, y: 0 }, to: { x: 9, y: 9 }, steps: 2 }
  const dragging = server.call('POST', `/v1/machines/${id}/mouse/drag`, drag)
  await hold.reached
  for (let x = 0; x < 50; x++) viewer.rfb.pointer(x, 7)
  await eventually(async () => screens.inputs === 51 || undefined)

  const taker = await drive(server, gateway, id, { force: true })
  const seen = desktop.events.length
  assert.deepEqual([...desktop.pressed], [])
  hold.release()
  assert.equal((await dragging).status, 409)
  for (let x = 0; x < 50; x++) viewer.rfb.pointer(x, 8)
  assert.deepEqual(await untilControl(viewer, 'lease_lost'), { type: 'lease_lost', fence })
  viewer.socket.send({ type: 'input_fence', fence })
  viewer.rfb.pointer(1, 9)
  await settledBy(viewer)
  taker.viewer.rfb.pointer(600, 9)
  await untilLanded(server, id, (events) => events.at(-1) === 'move 600,9')
  assert.deepEqual(desktop.events.slice(seen), [{ fence: taker.fence, event: 'move 600,9' }])
  assert.equal(controlsOf(viewer, 'lease_lost').length, 1)
})

test('a takeover drops input that waits at the gateway', async (t) => {
  const { id } = await server.machine()
  const { sessionId, fence } = await server.lease(id)
  const { reached, released, slow } = await startSlowGateway(t)
  const viewer = await view(slow, id, server.key, { session: sessionId })
  await connected(viewer)
  viewer.socket.send({ type: 'input_fence', fence })
  for (let x = 0; x < 50; x++) viewer.rfb.pointer(x, 7)
  // The gateway has read that the client holds the lease, and has not sent the fence to the machine.
  await reached.promise

  const taker = await drive(server, gateway, id, { force: true })
  const { desktop } = server.guest(id)
  const seen = desktop.events.length
  released.resolve()
  for (let x = 0; x < 50; x++) viewer.rfb.pointer(x, 8)
  assert.deepEqual(await untilControl(viewer, 'lease_lost'), { type: 'lease_lost', fence })
  await settledBy(viewer)
  taker.viewer.rfb.pointer(600, 9)
  await untilLanded(server, id, (events) => events.at(-1) === 'move 600,9')
  assert.deepEqual(desktop.events.slice(seen), [{ fence: taker.fence, event: 'move 600,9' }])
})

test('repeated takeovers under a flood of input: after each one only its holder has effect', async () => {
  const { id } = await server.machine()
  const { desktop } = server.guest(id)
  const players = [
    await drive(server, gateway, id),
    await drive(server, gateway, id, { force: true }),
  ]
  const answers: { fence: number; from: number }[] = []
  for (let round = 0; round < 40; round++) {
    const { viewer, sessionId } = players[round % 2]!
    const other = players[(round + 1) % 2]!
    // Each client names its fence as soon as it knows it, and sends input all the time.
    for (let x = 0; x < 4; x++) other.viewer.rfb.pointer(x, round)
    const answer = await acquire(server, id, sessionId, { force: true })
    if (answer.status !== 200) continue
    answers.push({ fence: answer.body.fence, from: desktop.events.length })
    for (let x = 0; x < 4; x++) other.viewer.rfb.pointer(x, round)
    viewer.socket.send({ type: 'input_fence', fence: answer.body.fence })
    viewer.rfb.key(a, true)
    viewer.rfb.key(a, false)
    // A takeover returns after all earlier input is done, so this is the holder's.
    if (round % 3 === 0)
      await eventually(async () => desktop.events.at(-1)?.event === 'release a' || undefined)
  }
  assert.equal(answers.length, 40)
  assert.ok(desktop.events.filter(({ event }) => event === 'press a').length > 10)
  for (const { fence, from } of answers) {
    const late = desktop.events.slice(from).filter((event) => event.fence < fence)
    assert.deepEqual(late, [])
  }
})

test('a session that takes the lease again sends under the new fence; the old one is lost', async () => {
  const { id } = await server.machine()
  const { viewer, sessionId, fence } = await drive(server, gateway, id)
  const path = `/v1/machines/${id}/input-lease`
  await server.call('DELETE', `${path}?session_id=${sessionId}`)
  const again = await acquire(server, id, sessionId)
  assert.equal(again.body.fence, fence + 2)
  viewer.rfb.key(a, true)
  assert.deepEqual(await untilControl(viewer, 'lease_lost'), { type: 'lease_lost', fence })
  viewer.socket.send({ type: 'input_fence', fence: fence + 2 })
  viewer.rfb.key(b, true)
  await untilLanded(server, id, (events) => events.includes('press b'))
  assert.deepEqual(landed(server, id), ['press b'])
})

test('expired and released leases are lost', async () => {
  const { id } = await server.machine()
  const { viewer, sessionId, fence } = await drive(server, gateway, id)
  await server.app.db
    .updateTable('input_leases')
    .set({ expires_at: sql`clock_timestamp() - interval '1 millisecond'` })
    .where('machine_id', '=', id)
    .execute()
  server.app.changes.publish(id)
  assert.deepEqual(await untilControl(viewer, 'lease_lost'), { type: 'lease_lost', fence })
  viewer.rfb.key(a, true)
  await untilControl(viewer, 'lease', (lease) => lease['fence'] === fence + 1)
  const again = await acquire(server, id, sessionId)
  viewer.socket.send({ type: 'input_fence', fence: again.body.fence })
  viewer.rfb.key(b, true)
  await untilLanded(server, id, (events) => events.includes('press b'))
  await server.call('DELETE', `/v1/machines/${id}/input-lease?session_id=${sessionId}`)
  await untilControl(viewer, 'lease_lost', (lost) => lost['fence'] === again.body.fence)
  assert.deepEqual(landed(server, id), ['press b', 'release b'])
})

test('a restarted agent gets the lease before the next input', async () => {
  const { id } = await server.machine()
  const { viewer, sessionId } = await drive(server, gateway, id)
  await acquire(server, id, sessionId)
  server.guest(id).restartAgent()
  assert.equal(server.guest(id).desktop.fence, null)
  await eventually(async () => server.guest(id).screens.streams === 1 || undefined)
  await eventually(async () => {
    viewer.rfb.key(a, true)
    viewer.rfb.key(a, false)
    return landed(server, id).includes('release a') || undefined
  })
  assert.deepEqual(controlsOf(viewer, 'lease_lost'), [])
})

test('held keys are released on disconnect, even while a renewed lease is being confirmed', async (t) => {
  const { id } = await server.machine()
  const { sessionId, fence } = await server.lease(id)
  const { reached, released, slow } = await startSlowGateway(t, { passes: 1 })
  await view(slow, id, server.key)
  const viewer = await view(slow, id, server.key, { session: sessionId })
  await connected(viewer)
  viewer.socket.send({ type: 'input_fence', fence })
  viewer.rfb.key(a, true)
  const { desktop } = server.guest(id)
  await eventually(async () => desktop.pressed.size === 1 || undefined)
  await acquire(server, id, sessionId)
  viewer.socket.send({ type: 'input_fence', fence: fence + 1 })
  await reached.promise
  viewer.socket.socket.terminate()
  await eventually(async () => desktop.pressed.size === 0 || undefined)
  released.resolve()
})

/** A gateway that sends only the first fences to the machine, and the others once it is released. */
async function startSlowGateway(t: TestContext, { passes = 0 } = {}) {
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { guests } = server.app
  let sent = 0
  const setFence: typeof guests.setFence = async (...args) => {
    if (sent++ >= passes) {
      reached.resolve()
      await released.promise
    }
    return guests.setFence(...args)
  }
  const slow = await startTestGateway(t, { ...server.app, guests: { ...guests, setFence } })
  return { reached, released, slow }
}
