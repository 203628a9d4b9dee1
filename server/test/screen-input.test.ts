import type { MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { startTestGateway } from './gateway.ts'
import { startTestServer } from './harness.ts'
import { told, untilTold, view, type TestViewer } from './screen-viewer.ts'
import { eventually } from './settled.ts'

/* Input of viewers: whose lands, and that nothing of a holder lands once a takeover has answered. */

const server = await startTestServer({ after })
const gateway = await startTestGateway({ after }, server.app)
const { a, b } = { a: 0x61, b: 0x62 }

test('keys and pointer of whoever holds the lease land, in order', async () => {
  const { id } = await server.machine()
  const { viewer } = await driver(id)
  viewer.rfb.pointer(10, 20)
  viewer.rfb.pointer(10, 20, 1)
  viewer.rfb.pointer(30, 20, 1)
  viewer.rfb.pointer(30, 20, 0)
  viewer.rfb.key(a, true)
  viewer.rfb.key(a, false)
  const drag = ['move 10,20', 'press left', 'move 30,20', 'move 30,20', 'release left']
  const expected = ['move 10,20', ...drag, 'press a', 'release a']
  await untilLanded(id, (events) => events.length === expected.length)
  assert.deepEqual(landed(id), expected)
})

test('without the right of it nothing lands, while pixels flow', async () => {
  const { id } = await server.machine()
  const { fence, sessionId } = await server.lease(id)
  const session = async (type: string) =>
    (await server.call('POST', '/v1/sessions', { machine_id: id, type })).body.id as string
  const reader = await server.apiKey({ scopes: ['machines:read', 'sessions:write'] })
  const readers = await reader.call('POST', '/v1/sessions', { machine_id: id })
  const powerless = [
    await view(gateway, id, server.key),
    await view(gateway, id, server.key, { session: await session('view') }),
    // Another session of the same key.
    await view(gateway, id, server.key, { session: await session('agent') }),
    await view(gateway, id, reader.secret, { session: readers.body.id }),
  ]
  for (const viewer of powerless) {
    await connected(viewer)
    viewer.socket.send({ type: 'input_fence', fence })
    viewer.rfb.key(a, true)
    viewer.rfb.pointer(1, 1)
  }
  // One that has not named its fence, then one that names it.
  const holder = await view(gateway, id, server.key, { session: sessionId })
  await connected(holder)
  holder.rfb.key(a, true)
  holder.socket.send({ type: 'input_fence', fence })
  holder.rfb.key(b, true)
  await untilLanded(id, (events) => events.length > 0)
  server.guest(id).screens.paint(0, 0, 0x00ff00)
  for (const viewer of [...powerless, holder]) {
    await viewer.rfb.until(({ rgb }) => rgb.readUIntBE(0, 3) === 0x00ff00)
  }
  assert.deepEqual(landed(id), ['press b'])
  // Only the session that could have held it lost something.
  assert.deepEqual(
    powerless.map((viewer) => told(viewer, 'lease_lost').length),
    [0, 0, 1, 0],
  )
})

test("a session that is another's, another machine's or closed is refused at the handshake", async () => {
  const { id } = await server.machine()
  const { body } = await server.call('POST', '/v1/sessions', { machine_id: id })
  const other = await server.apiKey()
  const { id: elsewhere } = await server.machine({ start: false })
  const refused = async (machineId: string, secret: string, session: string) => {
    const error = await view(gateway, machineId, secret, { session }).then(
      () => assert.fail('the handshake was accepted'),
      (reason: { body: { error: { code: string } } }) => reason,
    )
    return error.body.error.code
  }
  assert.equal(await refused(id, other.secret, body.id), 'permission_denied')
  assert.equal(await refused(elsewhere, server.key, body.id), 'not_found')
  assert.equal(await refused(id, server.key, 'ses_nonsense'), 'invalid_request')
  await server.call('DELETE', `/v1/sessions/${body.id}`)
  assert.equal(await refused(id, server.key, body.id), 'precondition_failed')
})

test('a renewal loses nothing, whether the client names the new fence or not', async () => {
  const { id } = await server.machine()
  const { viewer, sessionId, fence } = await driver(id)
  const hold = server.guest(id).desktop.holdInput()
  viewer.rfb.key(a, true)
  const drag = { from: { x: 0, y: 0 }, to: { x: 9, y: 9 }, steps: 2 }
  await untilLanded(id, (events) => events.length === 1)
  const dragging = server.call('POST', `/v1/machines/${id}/mouse/drag`, drag)
  await hold.reached
  // It waits in the machine, behind the drag, when the renewal is told.
  viewer.rfb.key(a, false)
  await eventually(async () => server.guest(id).screens.inputs === 2 || undefined)
  assert.equal((await acquire(server.call, id, sessionId)).body.fence, fence + 1)
  hold.release()
  await dragging
  viewer.rfb.key(b, true)
  await untilTold(viewer, 'lease', (lease) => lease['fence'] === fence + 1)
  viewer.rfb.key(b, false)
  viewer.socket.send({ type: 'input_fence', fence: fence + 1 })
  viewer.rfb.key(a, true)
  await untilLanded(id, (events) => events.filter((event) => event === 'press a').length === 2)
  const keys = landed(id).filter((event) => / [ab]$/.test(event))
  assert.deepEqual(keys, ['press a', 'release a', 'press b', 'release b', 'press a'])
  assert.deepEqual(told(viewer, 'lease_lost'), [])
})

test('a takeover: what waits in the machine never lands, and the loss is told once', async () => {
  const { id } = await server.machine()
  const { viewer, fence } = await driver(id)
  const { desktop, screens } = server.guest(id)
  const hold = desktop.holdInput()
  viewer.rfb.key(a, true)
  await untilLanded(id, (events) => events.length === 1)
  const drag = { from: { x: 0, y: 0 }, to: { x: 9, y: 9 }, steps: 2 }
  const dragging = server.call('POST', `/v1/machines/${id}/mouse/drag`, drag)
  await hold.reached
  for (let x = 0; x < 50; x++) viewer.rfb.pointer(x, 7)
  await eventually(async () => screens.inputs === 51 || undefined)

  const taker = await driver(id, { force: true })
  const seen = desktop.events.length
  assert.deepEqual([...desktop.pressed], [])
  hold.release()
  assert.equal((await dragging).status, 409)
  for (let x = 0; x < 50; x++) viewer.rfb.pointer(x, 8)
  assert.deepEqual(await untilTold(viewer, 'lease_lost'), { type: 'lease_lost', fence })
  viewer.socket.send({ type: 'input_fence', fence })
  viewer.rfb.pointer(1, 9)
  await settledBy(viewer)
  taker.viewer.rfb.pointer(600, 9)
  await untilLanded(id, (events) => events.at(-1) === 'move 600,9')
  assert.deepEqual(desktop.events.slice(seen), [{ fence: taker.fence, event: 'move 600,9' }])
  assert.equal(told(viewer, 'lease_lost').length, 1)
})

test('a takeover: what waits at the gateway never lands either', async (t) => {
  const { id } = await server.machine()
  const { sessionId, fence } = await server.lease(id)
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { guests } = server.app
  const setFence: typeof guests.setFence = async (...told) => {
    reached.resolve()
    await released.promise
    return guests.setFence(...told)
  }
  const slow = await startTestGateway(t, { ...server.app, guests: { ...guests, setFence } })
  const viewer = await view(slow, id, server.key, { session: sessionId })
  await connected(viewer)
  viewer.socket.send({ type: 'input_fence', fence })
  for (let x = 0; x < 50; x++) viewer.rfb.pointer(x, 7)
  // The gateway has read that the lease is the viewer's, and has not told the machine yet.
  await reached.promise

  const taker = await driver(id, { force: true })
  const { desktop } = server.guest(id)
  const seen = desktop.events.length
  released.resolve()
  for (let x = 0; x < 50; x++) viewer.rfb.pointer(x, 8)
  assert.deepEqual(await untilTold(viewer, 'lease_lost'), { type: 'lease_lost', fence })
  await settledBy(viewer)
  taker.viewer.rfb.pointer(600, 9)
  await untilLanded(id, (events) => events.at(-1) === 'move 600,9')
  assert.deepEqual(desktop.events.slice(seen), [{ fence: taker.fence, event: 'move 600,9' }])
})

test('takeovers back and forth in floods of input: from each answer on, only its holder lands', async () => {
  const { id } = await server.machine()
  const { desktop } = server.guest(id)
  const players = [await driver(id), await driver(id, { force: true })]
  const answers: { fence: number; from: number }[] = []
  for (let round = 0; round < 40; round++) {
    const { viewer, sessionId } = players[round % 2]!
    const other = players[(round + 1) % 2]!
    // Each names what it holds as soon as it knows, and moves all the while.
    for (let x = 0; x < 4; x++) other.viewer.rfb.pointer(x, round)
    const answer = await acquire(server.call, id, sessionId, { force: true })
    if (answer.status !== 200) continue
    answers.push({ fence: answer.body.fence, from: desktop.events.length })
    for (let x = 0; x < 4; x++) other.viewer.rfb.pointer(x, round)
    viewer.socket.send({ type: 'input_fence', fence: answer.body.fence })
    viewer.rfb.key(a, true)
    viewer.rfb.key(a, false)
    // A takeover answers when all of before is done, so this is what its holder has done.
    if (round % 3 === 0)
      await eventually(async () => desktop.events.at(-1)?.event === 'release a' || undefined)
  }
  assert.equal(answers.length, 40)
  for (const { fence, from } of answers) {
    const late = desktop.events.slice(from).filter((event) => event.fence < fence)
    assert.deepEqual(late, [])
  }
})

test('a fence that is of a later holding of the same session counts; input of the earlier does not', async () => {
  const { id } = await server.machine()
  const { viewer, sessionId, fence } = await driver(id)
  const path = `/v1/machines/${id}/input-lease`
  await server.call('DELETE', `${path}?session_id=${sessionId}`)
  const again = await acquire(server.call, id, sessionId)
  assert.equal(again.body.fence, fence + 2)
  viewer.rfb.key(a, true)
  assert.deepEqual(await untilTold(viewer, 'lease_lost'), { type: 'lease_lost', fence })
  viewer.socket.send({ type: 'input_fence', fence: fence + 2 })
  viewer.rfb.key(b, true)
  await untilLanded(id, (events) => events.includes('press b'))
  assert.deepEqual(landed(id), ['press b'])
})

test('a lease that runs out is lost, as is one that is released', async () => {
  const { id } = await server.machine()
  const { viewer, sessionId, fence } = await driver(id)
  await server.app.db
    .updateTable('input_leases')
    .set({ expires_at: sql`clock_timestamp() - interval '1 millisecond'` })
    .where('machine_id', '=', id)
    .execute()
  server.app.changes.publish(id)
  assert.deepEqual(await untilTold(viewer, 'lease_lost'), { type: 'lease_lost', fence })
  viewer.rfb.key(a, true)
  await untilTold(viewer, 'lease', (lease) => lease['fence'] === fence + 1)
  const again = await acquire(server.call, id, sessionId)
  viewer.socket.send({ type: 'input_fence', fence: again.body.fence })
  viewer.rfb.key(b, true)
  await untilLanded(id, (events) => events.includes('press b'))
  await server.call('DELETE', `/v1/machines/${id}/input-lease?session_id=${sessionId}`)
  await untilTold(viewer, 'lease_lost', (lost) => lost['fence'] === again.body.fence)
  assert.deepEqual(landed(id), ['press b', 'release b'])
})

test('an agent that starts again is told the lease before the next input', async () => {
  const { id } = await server.machine()
  const { viewer, sessionId } = await driver(id)
  await acquire(server.call, id, sessionId)
  server.guest(id).restartAgent()
  assert.equal(server.guest(id).desktop.fence, null)
  await eventually(async () => server.guest(id).screens.streams === 1 || undefined)
  await eventually(async () => {
    viewer.rfb.key(a, true)
    viewer.rfb.key(a, false)
    return landed(id).includes('release a') || undefined
  })
  assert.deepEqual(told(viewer, 'lease_lost'), [])
})

test('what a viewer holds goes up when its socket closes, also where others go on viewing', async () => {
  const { id } = await server.machine()
  const other = await view(gateway, id, server.key)
  const { viewer } = await driver(id)
  viewer.rfb.key(a, true)
  viewer.rfb.pointer(5, 6, 0b100)
  const { desktop } = server.guest(id)
  await eventually(async () => desktop.pressed.size === 2 || undefined)
  viewer.socket.socket.terminate()
  await eventually(async () => desktop.pressed.size === 0 || undefined)
  assert.equal(other.socket.socket.readyState, other.socket.socket.OPEN)
})

test('the clipboard goes both ways for the holder alone', async () => {
  const { id } = await server.machine()
  const bystander = await view(gateway, id, server.key)
  const { viewer } = await driver(id)
  // The server says first that it takes more than Latin-1.
  for (const { rfb } of [bystander, viewer]) {
    await rfb.until(({ clipboardFlags }) => clipboardFlags.length > 0)
  }
  const { desktop, screens } = server.guest(id)
  bystander.rfb.copy('from nobody')
  viewer.rfb.copy('größer — 漢字')
  await eventually(async () => desktop.readClipboard('clipboard') === 'größer — 漢字' || undefined)
  screens.tell({ type: 'clipboard', text: 'from inside ✓' })
  await viewer.rfb.until(({ copied }) => copied.includes('from inside ✓'))
  screens.paint(0, 0, 0x00ff00)
  await bystander.rfb.until(({ rgb }) => rgb.readUIntBE(0, 3) === 0x00ff00)
  assert.deepEqual(bystander.rfb.copied, [])
})

test('the holder resizes the screen, and every viewer follows', async () => {
  const { id } = await server.machine()
  const bystander = await view(gateway, id, server.key)
  const { viewer } = await driver(id)
  await connected(bystander)
  bystander.rfb.setDesktopSize({ width: 800, height: 600 })
  await bystander.rfb.until(({ sizes }) => sizes.some(({ status }) => status === 1))
  viewer.rfb.setDesktopSize({ width: 1024, height: 768 })
  for (const each of [viewer, bystander]) {
    await untilTold(each, 'ready', (ready) => ready['width'] === 1024 && ready['height'] === 768)
    await each.rfb.until(
      (rfb) => rfb.width === 1024 && rfb.height === 768 && rfb.pixel(1023, 767) === 0x20_30_40,
    )
  }
})

test('400 input messages at once are taken, many more close the socket; asking for frames is free', async () => {
  const { id } = await server.machine()
  const looking = await view(gateway, id, server.key, { follows: false })
  await connected(looking)
  for (let count = 0; count < 3000; count++) looking.rfb.requestUpdate(true)
  for (let x = 0; x < 390; x++) looking.rfb.pointer(x, 1)
  await settledBy(looking)
  const flooding = await view(gateway, id, server.key)
  await connected(flooding)
  for (let x = 0; x < 3000; x++) flooding.rfb.pointer(x, 1)
  assert.equal((await flooding.socket.closed).code, 4429)
  const naming = await view(gateway, id, server.key)
  await connected(naming)
  for (let fence = 0; fence < 3000; fence++) naming.socket.send({ type: 'input_fence', fence })
  assert.equal((await naming.socket.closed).code, 4429)
})

/** A viewer whose session holds the lease, and has named its fence. */
async function driver(id: MachineId, wish: Record<string, unknown> = {}) {
  const { sessionId, fence } = await server.lease(id, wish)
  const viewer = await view(gateway, id, server.key, { session: sessionId })
  await connected(viewer)
  viewer.socket.send({ type: 'input_fence', fence })
  return { viewer, sessionId, fence }
}

async function connected({ rfb }: TestViewer): Promise<void> {
  await rfb.until(() => rfb.isConnected)
}

/** Waits until the gateway has taken all that the viewer has sent: it answers in order. */
async function settledBy({ socket }: TestViewer): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  socket.socket.once('pong', () => resolve())
  socket.socket.ping()
  await promise
}

function acquire(
  call: typeof server.call,
  machineId: string,
  session_id: string,
  wish: Record<string, unknown> = {},
) {
  return call('POST', `/v1/machines/${machineId}/input-lease`, { session_id, ...wish })
}

function landed(id: MachineId): string[] {
  return server.guest(id).desktop.events.map(({ event }) => event)
}

async function untilLanded(id: MachineId, isSo: (events: string[]) => boolean): Promise<void> {
  await eventually(async () => isSo(landed(id)) || undefined)
}
