import {
  maxPointerNameLength,
  maxPointers,
  ScreenServerMessage,
  type MachineId,
  type ScreenPointer,
} from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { WebSocket } from 'ws'
import { Pointers } from '../src/gateway/screen/pointers.ts'
import { startTestGateway } from './gateway.ts'
import { startTestServer } from './harness.ts'
import { connected, landed, settledBy } from './screen-driver.ts'
import { controlsOf, untilControl, view, type TestViewer } from './screen-viewer.ts'

/* The pointers that the clients of a machine's screen see of each other, and those of agents. */

const server = await startTestServer({ after })
const gateway = await startTestGateway({ after }, server.app)
const owner = server.as(await server.user('owner'))
const place = { x: 640, y: 400 }

test('clients see each other, with or without a session, and none sees itself', async () => {
  const { id } = await server.machine()
  const ada = await watcherOf(id, 'Ada')
  const bob = await watcherOf(id, 'Bob', 'human')
  const cleo = await watcherOf(id, 'Cleo', 'view')
  point(ada.viewer, place)
  point(bob.viewer, { x: 0, y: 0 })
  const seen = await untilPointers(cleo.viewer, (all) => all.length === 2)
  assert.deepEqual(
    seen.map((pointer) => ({ ...pointer, id: '' })),
    [
      { id: '', name: 'Ada', kind: 'agent', session_id: null, at: place, clicked: false },
      {
        id: '',
        name: 'Bob',
        kind: 'person',
        session_id: bob.sessionId,
        at: { x: 0, y: 0 },
        clicked: false,
      },
    ],
  )
  point(cleo.viewer, place)
  const others = await untilPointers(ada.viewer, (all) => all.length === 2)
  assert.deepEqual(names(others), ['Bob', 'Cleo'])
  const all = [ada, bob, cleo].flatMap(({ name, viewer }) =>
    pointersOf(viewer).map((pointers) => ({ name, pointers })),
  )
  for (const { name, pointers } of all) assert.ok(!names(pointers).includes(name))

  // It has left the screen; then its connection.
  point(ada.viewer, null)
  await untilPointers(cleo.viewer, (pointers) => names(pointers).join() === 'Bob')
  await bob.viewer.socket.close()
  await untilPointers(cleo.viewer, (pointers) => pointers.length === 0)
  for (const message of cleo.viewer.socket.controls) ScreenServerMessage.parse(message)
  // The machine knows of none.
  assert.deepEqual(landed(server, id), [])
  assert.equal(server.guest(id).screens.inputs, 0)
})

test('a client that is alone is told nothing', async () => {
  const { id } = await server.machine()
  const { viewer } = await watcherOf(id, 'Ada')
  for (let x = 0; x < 10; x++) point(viewer, { x, y: 0 })
  await settledBy(viewer)
  point(viewer, null)
  await settledBy(viewer)
  const { viewer: other } = await watcherOf(id, 'Bob')
  point(viewer, place)
  await untilPointers(other, (all) => all.length === 1)
  assert.deepEqual(pointersOf(viewer), [])
})

test('who joins sees where the others point already', async () => {
  const { id } = await server.machine()
  const { viewer } = await watcherOf(id, 'Ada')
  point(viewer, place)
  await settledBy(viewer)
  const late = await watcherOf(id, 'Bob')
  const [pointer] = await untilPointers(late.viewer, (all) => all.length === 1)
  assert.deepEqual(pointer!.at, place)
})

test('a revoked viewer vanishes although it does not answer the close', async (t) => {
  const { id } = await server.machine()
  const { viewer, keyId } = await watcherOf(id, 'Mallory')
  const { viewer: other } = await watcherOf(id, 'Ada')
  point(viewer, place)
  await untilPointers(other, (all) => all.length === 1)
  const terminate = t.mock.method(WebSocket.prototype, 'terminate')
  viewer.socket.socket.pause()
  await owner('DELETE', `/v1/api-keys/${keyId}`)
  await untilPointers(other, (all) => all.length === 0)
  assert.equal(terminate.mock.callCount(), 0)
  point(viewer, { x: 1, y: 1 })
  viewer.socket.socket.resume()
  assert.equal((await viewer.socket.closed).code, 4401)
  assert.equal(pointersOf(other).length, 2)
})

test('an agent that acts through the API is seen for a moment, by all but its own session', async () => {
  const { id } = await server.machine()
  const agent = await server.apiKey({ name: 'CI bot' })
  const { body: session } = await agent.call('POST', '/v1/sessions', { machine_id: id })
  const act = (path: string, body: object) =>
    agent.call('POST', `/v1/machines/${id}/${path}`, body, { 'x-session-id': session.id })
  await act('input-lease', { session_id: session.id })
  const own = await view(gateway, id, agent.secret, { session: session.id })
  const { viewer } = await watcherOf(id, 'Ada')
  await connected(own)
  const other = await server.machine()
  const { viewer: elsewhere } = await watcherOf(other.id, 'Bob')

  // An entry from before a client came is not shown, so this is done until one is.
  const shown = untilPointers(viewer, (all) => all.length === 1)
  let isShown = false
  void shown.then(() => (isShown = true))
  while (!isShown) await act('mouse/move', place)
  const [ghost] = await shown
  const { id: ghostId, ...rest } = ghost!
  const about = { name: 'CI bot', kind: 'agent', session_id: session.id }
  assert.deepEqual(rest, { ...about, at: place, clicked: false })

  await act('mouse/click', { at: { x: 5, y: 6 } })
  await act('mouse/click', {})
  const clicked = await untilPointers(viewer, (all) => all[0]?.clicked === true)
  assert.deepEqual(clicked, [{ id: ghostId, ...about, at: { x: 5, y: 6 }, clicked: true }])
  await act('mouse/drag', { from: { x: 1, y: 1 }, to: { x: 9, y: 9 } })
  const dragged = await untilPointers(viewer, (all) => all[0]?.at.x === 9)
  assert.deepEqual(dragged, [{ id: ghostId, ...about, at: { x: 9, y: 9 }, clicked: false }])

  await viewer.socket.until(() => pointersOf(viewer).at(-1)?.length === 0)
  assert.deepEqual([pointersOf(own), pointersOf(elsewhere)], [[], []])
})

test('names are cut, and so is the number of pointers: those that moved last are told', async (t) => {
  const { id } = await server.machine()
  const many = await startTestGateway(t, server.app)
  const long = `${'x'.repeat(maxPointerNameLength - 2)}😀${'y'.repeat(100)}`
  const key = await server.apiKey({ name: long })
  const viewers: TestViewer[] = []
  for (let n = 0; n <= maxPointers; n++) viewers.push(await view(many, id, key.secret))
  const [viewer, ...others] = viewers
  const extra = await view(many, id, key.secret)
  await connected(viewer!)
  for (const [x, other] of [...others, extra].entries()) {
    point(other, { x, y: 0 })
    await settledBy(other)
  }
  const all = await untilPointers(viewer!, (pointers) => pointers.some(({ at }) => at.x === 32))
  assert.equal(all.length, maxPointers)
  assert.deepEqual(all.map(({ at }) => at.x).sort((a, b) => a - b)[0], 1)
  assert.equal(all[0]!.name, `${'x'.repeat(maxPointerNameLength - 2)}…`)
  assert.equal(new Set(all.map((pointer) => pointer.id)).size, maxPointers)
})

test('a place that is no pixel ends the connection, and so do too many messages', async () => {
  const { id } = await server.machine()
  const faults = [{ x: -1, y: 0 }, { x: 0.5, y: 0 }, { x: 0, y: 16_384 }, { x: 0 }, [0, 0]]
  for (const at of faults) {
    const { viewer } = await watcherOf(id, 'Ada')
    viewer.socket.send({ type: 'pointer', at })
    assert.equal((await viewer.socket.closed).code, 1002)
  }
  const { viewer } = await watcherOf(id, 'Ada')
  for (let n = 0; n < 1_000; n++) point(viewer, { x: n, y: 0 })
  assert.equal((await viewer.socket.closed).code, 4429)
})

test('another organization sees nothing', async () => {
  const { id } = await server.machine()
  const key = await server.apiKey({ creator: await server.user('owner', 'stranger') })
  const { viewer } = await watcherOf(id, 'Ada')
  point(viewer, place)
  await assert.rejects(view(gateway, id, key.secret), { status: 404 })
})

/** A hub without sockets, in slots that the test ends. */
function hubOf(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const pointers = new Pointers({ shown: [] })
  t.after(() => pointers[Symbol.dispose]())
  const join = (name: string) => {
    const sent: ScreenPointer[][] = []
    let drained = Promise.withResolvers<void>()
    const client = {
      sent,
      isOpen: true,
      hasRoom: true,
      onEnd: () => {},
      drained: () => drained.promise,
      drain() {
        client.hasRoom = true
        drained.resolve()
        drained = Promise.withResolvers()
      },
      sendControl: (message: unknown) =>
        void sent.push((message as { pointers: ScreenPointer[] }).pointers),
    }
    const owned = { name, kind: 'person', session_id: null } as const
    return { ...client, client, point: pointers.add(client, name, owned) }
  }
  return { join, endSlot: () => t.mock.timers.tick(50) }
}

test('in a slot of a twentieth of a second only the newest place is told', (t) => {
  const { join, endSlot } = hubOf(t)
  const [ada, bob] = [join('Ada'), join('Bob')]
  endSlot()
  endSlot()
  for (let x = 0; x < 100; x++) ada.point({ x, y: 0 })
  for (let slot = 0; slot < 5; slot++) endSlot()
  // The first is told at once, the last at the end of the slot, and then nothing.
  assert.deepEqual(bob.sent.map(xOf), [0, 99])
  ada.point({ x: 99, y: 0 })
  endSlot()
  assert.equal(bob.sent.length, 2)
  assert.deepEqual(ada.sent, [])
})

test('a client without room is told the newest places once it has room', async (t) => {
  const { join, endSlot } = hubOf(t)
  const [ada, bob, cleo] = [join('Ada'), join('Bob'), join('Cleo')]
  endSlot()
  endSlot()
  bob.client.hasRoom = false
  for (let x = 0; x < 5; x++) {
    ada.point({ x, y: 0 })
    endSlot()
  }
  assert.deepEqual([bob.sent, cleo.sent.map(xOf)], [[], [0, 1, 2, 3, 4]])
  bob.client.drain()
  await Promise.resolve()
  endSlot()
  assert.deepEqual(bob.sent.map(xOf), [4])
})

const xOf = (pointers: readonly ScreenPointer[]) => pointers[0]?.at.x

/** A client with an API key of that name. Without a session it only watches. */
async function watcherOf(id: MachineId, name: string, type?: 'human' | 'view') {
  const key = await server.apiKey({ name })
  const session = type && (await key.call('POST', '/v1/sessions', { machine_id: id, type })).body.id
  const viewer = await view(gateway, id, key.secret, { session })
  await connected(viewer)
  return { name, viewer, keyId: key.id, sessionId: session as string | undefined }
}

function point({ socket }: TestViewer, at: { x: number; y: number } | null): void {
  socket.send({ type: 'pointer', at })
}

/** Every list of pointers that the client was told. */
function pointersOf(viewer: TestViewer): ScreenPointer[][] {
  return controlsOf(viewer, 'pointers').map(({ pointers }) => pointers as ScreenPointer[])
}

async function untilPointers(
  viewer: TestViewer,
  isIt: (pointers: ScreenPointer[]) => boolean,
): Promise<ScreenPointer[]> {
  const message = await untilControl(viewer, 'pointers', ({ pointers }) =>
    isIt(pointers as ScreenPointer[]),
  )
  return message['pointers'] as ScreenPointer[]
}

function names(pointers: readonly ScreenPointer[]): string[] {
  return pointers.map(({ name }) => name).sort()
}
