import { encodeControl, encodeFrame, frameKind, ScreenServerMessage } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { onDisksOf } from './disks.ts'
import { startTestGateway } from './gateway.ts'
import { startTestServer } from './harness.ts'
import { rfb as encodings } from './rfb-messages.ts'
import { controlsOf, untilSeen, untilControl, view, type TestViewer } from './screen-viewer.ts'
import { eventually } from './settled.ts'

/* The data that clients of a machine's screen receive. */

const server = await startTestServer({ after })
const gateway = await startTestGateway({ after }, server.app)
const background = 0x20_30_40

test('a client gets the size, the screen and then each change once', async () => {
  const { id } = await server.machine()
  const viewer = await view(gateway, id, server.key)
  const { rfb } = viewer
  await untilSeen(viewer, 1279, 799, background)
  assert.deepEqual([rfb.width, rfb.height], [1280, 800])
  assert.equal(rfb.name, (await server.call('GET', `/v1/machines/${id}`)).body.name)
  assert.deepEqual(viewer.socket.controls[0], { type: 'ready', width: 1280, height: 800 })
  const lease = await server.call('GET', `/v1/machines/${id}/input-lease`)
  assert.deepEqual(await untilControl(viewer, 'lease'), { type: 'lease', ...lease.body })

  const before = rfb.updates.length
  server.guest(id).screens.paint(300, 200, 0xff0000)
  await untilSeen(viewer, 300, 200, 0xff0000)
  const changes = rfb.updates.slice(before).flat()
  assert.deepEqual(changes, [
    { x: 256, y: 128, width: 256, height: 128, encoding: encodings.tight },
  ])
  assert.equal(rfb.pixel(0, 0), background)
  await viewer.socket.close()
})

test('clients share one stream, which opens with the first and closes with the last', async () => {
  const { id } = await server.machine()
  const { screens } = server.guest(id)
  assert.equal(screens.streams, 0)
  const first = await view(gateway, id, server.key)
  await shown(first)
  const sent = screens.frames
  const others = await Promise.all([1, 2, 3].map(() => view(gateway, id, server.key)))
  for (const other of others) await shown(other)
  assert.deepEqual([screens.streams, screens.frames], [1, sent])
  screens.paint(0, 0, 0x00ff00)
  for (const viewer of [first, ...others]) await untilSeen(viewer, 5, 5, 0x00ff00)
  await first.socket.close()
  assert.equal(screens.streams, 1)
  for (const other of others) await other.socket.close()
  await eventually(async () => screens.streams === 0 || undefined)
})

test('a client that takes raw pixels sees the same screen', async () => {
  const { id } = await server.machine()
  const viewer = await view(gateway, id, server.key, { encodings: [encodings.raw] })
  server.guest(id).screens.paint(700, 300, 0x123456)
  await untilSeen(viewer, 700, 300, 0x123456)
  await untilSeen(viewer, 0, 0, background)
})

test('a frame is shown when it is complete, and a new screen when all of it has arrived', async () => {
  const { id } = await server.machine()
  const { screens } = server.guest(id)
  const viewer = await view(gateway, id, server.key)
  await shown(viewer)
  // A tile without the end of its frame, then a new size without all of its tiles.
  screens.sendRaw(encodeFrame(frameKind.payload, tileOf(0, 0, 256, 128, 0xff0000)))
  screens.sendRaw(encodeControl({ type: 'geometry', width: 512, height: 128 }))
  screens.sendRaw(encodeFrame(frameKind.payload, tileOf(256, 0, 256, 128, 0x0000ff)))
  screens.sendRaw(encodeControl({ type: 'frame', frame: 1000 }))
  screens.sendRaw(
    encodeControl({ type: 'cursor', width: 1, height: 1, x: 0, y: 0, pixels: 'AAAAAA==' }),
  )
  await viewer.rfb.until(({ cursor }) => cursor !== undefined)
  assert.deepEqual([viewer.rfb.width, viewer.rfb.pixel(0, 0)], [1280, background])
  screens.sendRaw(encodeFrame(frameKind.payload, tileOf(0, 0, 256, 128, 0x00ff00)))
  screens.sendRaw(encodeControl({ type: 'frame', frame: 1001 }))
  await untilControl(viewer, 'ready', ({ width }) => width === 512)
  await untilSeen(viewer, 511, 127, 0x0000ff)
  assert.deepEqual([viewer.rfb.width, viewer.rfb.height], [512, 128])
  assert.equal(viewer.rfb.pixel(0, 0), 0x00ff00)
})

test('a broken stream is reopened, and unchanged tiles are not sent again', async () => {
  const { id } = await server.machine()
  const { screens } = server.guest(id)
  const viewer = await view(gateway, id, server.key)
  await shown(viewer)
  server.guest(id).restartAgent()
  await viewer.socket.until(() => controlsOf(viewer, 'ready').length === 2)
  const before = viewer.rfb.updates.length
  screens.paint(0, 0, 0x00ff00)
  await untilSeen(viewer, 0, 0, 0x00ff00)
  assert.deepEqual(
    viewer.rfb.updates
      .slice(before)
      .flat()
      .map(({ x, y }) => [x, y]),
    [[0, 0]],
  )
  assert.equal(controlsOf(viewer, 'machine').length, 0)
})

test('a stream with invalid data is closed and reopened', async () => {
  const { id } = await server.machine()
  const { screens } = server.guest(id)
  const viewer = await view(gateway, id, server.key)
  await shown(viewer)
  const nonsense = [
    Buffer.from([0xff, 0xff, 0xff, 0xff, 0]),
    encodeControl({ type: 'nonsense' }),
    encodeControl({ type: 'geometry', width: 100_000, height: 1 }),
    encodeFrame(frameKind.payload, Buffer.from('short')),
    ...[tileOf(1200, 0, 256, 128, 0), tileOf(1, 1, 255, 127, 0)].map((tile) =>
      Buffer.concat([
        encodeFrame(frameKind.payload, tile),
        encodeControl({ type: 'frame', frame: 1000 }),
      ]),
    ),
  ]
  for (const [index, bytes] of nonsense.entries()) {
    screens.sendRaw(bytes)
    await viewer.socket.until(() => controlsOf(viewer, 'ready').length === index + 2)
  }
  screens.paint(0, 0, 0x00ff00)
  await untilSeen(viewer, 0, 0, 0x00ff00)
})

test('when a machine stops and starts, the socket stays open and the screen comes back', async () => {
  const { id } = await server.machine()
  const viewer = await view(gateway, id, server.key)
  await shown(viewer)
  await server.call('POST', `/v1/machines/${id}/stop?wait=30`)
  await untilControl(viewer, 'machine', ({ state }) => state === 'stopped')
  await server.call('POST', `/v1/machines/${id}/start?wait=30`)
  await viewer.socket.until(() => controlsOf(viewer, 'ready').length === 2)
  await untilControl(viewer, 'machine', ({ state }) => state === 'running')
  for (const message of viewer.socket.controls) ScreenServerMessage.parse(message)
  const states = controlsOf(viewer, 'machine').map(({ state }) => state)
  assert.deepEqual([states.includes('stopped'), states.at(-1)], [true, 'running'])
  server.guest(id).screens.paint(0, 0, 0x00ff00)
  await untilSeen(viewer, 0, 0, 0x00ff00)
})

test('a restore disconnects whoever watches, whether the machine runs or not', async () => {
  const disks = onDisksOf(server)
  const { id } = await server.machine()
  const snapshot = await disks.snapshot(id)
  const watching = await view(gateway, id, server.key)
  await shown(watching)
  await disks.restore(id, snapshot.id, '?wait=30')
  const { code, reason } = await watching.socket.closed
  assert.deepEqual([code, reason], [1001, 'the machine was restored; connect again'])
  const again = await view(gateway, id, server.key)
  await shown(again)
  again.socket.socket.close()

  await disks.move(id, 'stop')
  const waiting = await view(gateway, id, server.key)
  await untilControl(waiting, 'lease')
  await disks.restore(id, snapshot.id, '?wait=30')
  assert.equal((await waiting.socket.closed).code, 1001)
})

test('a client can connect before the machine runs', async () => {
  const { id } = await server.machine({ start: false })
  const viewer = await view(gateway, id, server.key)
  await untilControl(viewer, 'lease')
  assert.deepEqual(viewer.socket.controls[0], { type: 'machine', state: 'stopped' })
  await server.call('POST', `/v1/machines/${id}/start?wait=30`)
  await shown(viewer)
  assert.equal(controlsOf(viewer, 'ready').length, 1)
})

test('the screen appears when the desktop starts late', async () => {
  const { viewer, guest } = await viewBeforeDesktop()
  assert.deepEqual(viewer.socket.frames, [])
  guest.desktop.up = true
  await shown(viewer)
})

test('a pointer and the end of a frame before any geometry break no stream', async (t) => {
  const { viewer, guest } = await viewBeforeDesktop()
  const { screens } = guest
  const reopen = t.mock.method(screens, 'open')
  const pointer = { width: 1, height: 1, x: 0, y: 0, pixels: 'AAAAAA==' }
  screens.sendRaw(encodeControl({ type: 'cursor', ...pointer }))
  screens.sendRaw(encodeControl({ type: 'frame', frame: 1 }))
  guest.desktop.up = true
  await shown(viewer)
  assert.equal(reopen.mock.callCount(), 0)
})

async function viewBeforeDesktop() {
  server.engine.controls.setDesktopUpAtBoot(false)
  const { id } = await server.machine()
  server.engine.controls.setDesktopUpAtBoot(true)
  const viewer = await view(gateway, id, server.key)
  const guest = server.guest(id)
  await eventually(async () => guest.screens.streams === 1 || undefined)
  return { viewer, guest }
}

test('a protocol error closes that socket alone', async () => {
  const { id } = await server.machine()
  const bystander = await view(gateway, id, server.key)
  await shown(bystander)
  for (const bytes of [Buffer.from('GET / HTTP/1.1\r\n'), Buffer.alloc(12)]) {
    const { socket } = await view(gateway, id, server.key, { version: '003.008' })
    socket.socket.send(bytes, { binary: true })
    assert.equal((await socket.closed).code, 1002)
  }
  const shouting = await view(gateway, id, server.key)
  shouting.socket.send({ type: 'nonsense' })
  assert.equal((await shouting.socket.closed).code, 1002)
  const endless = await view(gateway, id, server.key)
  endless.socket.socket.send(Buffer.alloc(600 * 1024), { binary: true })
  assert.equal((await endless.socket.closed).code, 4413)
  const wordy = await view(gateway, id, server.key)
  wordy.socket.send({ type: 'input_fence', fence: 1, more: 'x'.repeat(65_536) })
  assert.equal((await wordy.socket.closed).code, 4413)
  server.guest(id).screens.paint(0, 0, 0x00ff00)
  await untilSeen(bystander, 0, 0, 0x00ff00)
})

test('the machine sends no frames while no client requests updates', async () => {
  const { id } = await server.machine()
  const { screens } = server.guest(id)
  const viewer = await view(gateway, id, server.key, { follows: false })
  await viewer.rfb.until(({ isConnected }) => isConnected)
  for (let colour = 1; colour <= 50; colour++) {
    screens.paint(0, 0, colour)
    // Uses the same channel as the stream, so everything sent on it before has arrived.
    await server.call('GET', `/v1/machines/${id}/display`)
  }
  assert.ok(screens.frames <= 3, `${screens.frames} frames`)
  viewer.rfb.requestUpdate(false)
  // The client gets the newest content and none of the frames between.
  viewer.rfb.requestUpdate(true)
  await eventually(async () => {
    viewer.rfb.requestUpdate(true)
    return (viewer.rfb.width > 0 && viewer.rfb.pixel(0, 0) === 50) || undefined
  })
})

function shown(viewer: TestViewer): Promise<void> {
  return untilSeen(viewer, 1279, 799, background)
}

/** A tile of one colour in the agent's encoding. */
function tileOf(x: number, y: number, width: number, height: number, colour: number): Buffer {
  const head = Buffer.alloc(8)
  for (const [index, value] of [x, y, width, height].entries()) head.writeUInt16BE(value, index * 2)
  return Buffer.concat([head, Buffer.of(0x80, colour >>> 16, colour >>> 8, colour)])
}
