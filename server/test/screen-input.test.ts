import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startTestGateway } from './gateway.ts'
import { startTestServer } from './harness.ts'
import { connected, drive, landed, settledBy, untilLanded } from './screen-driver.ts'
import { controlsOf, untilControl, view } from './screen-viewer.ts'
import { eventually } from './settled.ts'

/* Input of screen clients: which client's input is applied, and its limits. */

const server = await startTestServer({ after })
const gateway = await startTestGateway({ after }, server.app)
const { a, b } = { a: 0x61, b: 0x62 }

test('keys and pointer events of the lease holder are applied in order', async () => {
  const { id } = await server.machine()
  const { viewer } = await drive(server, gateway, id)
  viewer.rfb.pointer(10, 20)
  viewer.rfb.pointer(10, 20, 1)
  viewer.rfb.pointer(30, 20, 1)
  viewer.rfb.pointer(30, 20, 0)
  viewer.rfb.key(a, true)
  viewer.rfb.key(a, false)
  const drag = ['move 10,20', 'press left', 'move 30,20', 'move 30,20', 'release left']
  const expected = ['move 10,20', ...drag, 'press a', 'release a']
  await untilLanded(server, id, (events) => events.length === expected.length)
  assert.deepEqual(landed(server, id), expected)
})

test('clients without the lease or the permission see the screen but their input is dropped', async () => {
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
  // A key before the holder has named its fence, then one after.
  const holder = await view(gateway, id, server.key, { session: sessionId })
  await connected(holder)
  holder.rfb.key(a, true)
  holder.socket.send({ type: 'input_fence', fence })
  holder.rfb.key(b, true)
  await untilLanded(server, id, (events) => events.length > 0)
  server.guest(id).screens.paint(0, 0, 0x00ff00)
  for (const viewer of [...powerless, holder]) {
    await viewer.rfb.until(({ rgb }) => rgb.readUIntBE(0, 3) === 0x00ff00)
  }
  assert.deepEqual(landed(server, id), ['press b'])
  // Only the session that could have held the lease gets lease_lost.
  assert.deepEqual(
    powerless.map((viewer) => controlsOf(viewer, 'lease_lost').length),
    [0, 0, 1, 0],
  )
})

test('the handshake refuses sessions of other principals and machines, and closed ones', async () => {
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

test('held keys and buttons are released when the socket closes, even if others keep watching', async () => {
  const { id } = await server.machine()
  const other = await view(gateway, id, server.key)
  const { viewer } = await drive(server, gateway, id)
  viewer.rfb.key(a, true)
  viewer.rfb.pointer(5, 6, 0b100)
  const { desktop } = server.guest(id)
  await eventually(async () => desktop.pressed.size === 2 || undefined)
  viewer.socket.socket.terminate()
  await eventually(async () => desktop.pressed.size === 0 || undefined)
  assert.equal(other.socket.socket.readyState, other.socket.socket.OPEN)
})

test('only the holder exchanges the clipboard, in both directions', async () => {
  const { id } = await server.machine()
  const bystander = await view(gateway, id, server.key)
  const { viewer } = await drive(server, gateway, id)
  // The server first sends its caps.
  for (const { rfb } of [bystander, viewer]) {
    await rfb.until(({ clipboardFlags }) => clipboardFlags.length > 0)
  }
  const { desktop, screens } = server.guest(id)
  bystander.rfb.copy('from nobody')
  viewer.rfb.copy('größer — 漢字')
  await eventually(async () => desktop.readClipboard('clipboard') === 'größer — 漢字' || undefined)
  screens.update({ type: 'clipboard', text: 'from inside ✓' })
  await viewer.rfb.until(({ copied }) => copied.includes('from inside ✓'))
  screens.paint(0, 0, 0x00ff00)
  await bystander.rfb.until(({ rgb }) => rgb.readUIntBE(0, 3) === 0x00ff00)
  assert.deepEqual(bystander.rfb.copied, [])
})

test('the holder resizes the screen for every client', async () => {
  const { id } = await server.machine()
  const bystander = await view(gateway, id, server.key)
  const { viewer } = await drive(server, gateway, id)
  await connected(bystander)
  bystander.rfb.setDesktopSize({ width: 800, height: 600 })
  await bystander.rfb.until(({ sizes }) => sizes.some(({ status }) => status === 1))
  viewer.rfb.setDesktopSize({ width: 1024, height: 768 })
  for (const each of [viewer, bystander]) {
    await untilControl(each, 'ready', (ready) => ready['width'] === 1024 && ready['height'] === 768)
    await each.rfb.until(
      (rfb) => rfb.width === 1024 && rfb.height === 768 && rfb.pixel(1023, 767) === 0x20_30_40,
    )
  }
})

test('a burst of 400 input messages is accepted, many more close the socket; update requests do not count', async () => {
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
