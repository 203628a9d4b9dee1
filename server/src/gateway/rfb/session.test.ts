import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatOfNovnc, formatOfServer } from '../../../test/rfb-format.ts'
import { rfb } from '../../../test/rfb-messages.ts'
import { difference, paintPictures, paintTile, pictures } from '../../../test/rfb-pictures.ts'
import { startRfbSession } from '../../../test/rfb-session.ts'
import { RfbError } from './error.ts'
import type { Rectangle } from './tile.ts'

const geometry = { width: 64, height: 160 }
const tileArea = { x: 0, y: 0, width: 64, height: 32 }
/** JPEG is lossy. */
const jpegDifference = 24

for (const version of ['003.003', '003.005', '003.007', '003.008', '003.889'] as const) {
  test(`a client of ${version} completes the handshake`, async () => {
    const name = 'Büro – 🖥'
    const { client, session } = await startRfbSession({
      version,
      name,
      format: null,
      follows: false,
    })
    assert.ok(session.isReady)
    assert.equal(client.name, name)
    assert.deepEqual({ width: client.width, height: client.height }, geometry)
    assert.deepEqual(client.format, formatOfServer)
    assert.equal(session.wantsUpdate, false)
  })
}

test('a client like noVNC gets the tiles without reencoding', async () => {
  const painted = await paintPictures(tileArea)
  const { client, session, refreshed, counts } = await startRfbSession({ format: formatOfNovnc })
  assert.deepEqual(refreshed, [{ x: 0, y: 0, ...geometry }])
  assert.ok(session.wantsUpdate)

  const before = counts.wanted
  await session.sendUpdate(painted.map(({ tile }) => tile))
  await client.until(({ updates }) => updates.at(-1)?.length === painted.length)
  assert.deepEqual(new Set(client.updates.at(-1)!.map(({ encoding }) => encoding)), new Set([7]))
  assertShown(client.rgb, painted)
  assert.equal(counts.wanted, before + 1, 'the client asked for the next')
  assert.ok(session.wantsUpdate)
})

test('nothing is sent without a request', async () => {
  const { tile } = await paintTile(tileArea, pictures.fill)
  const { client, session, sent } = await startRfbSession({ follows: false })
  const before = sent.length
  session.setCursor(cursor)
  session.setGeometry({ width: 800, height: 600 })
  assert.equal(session.wantsUpdate, false)
  assert.equal(session.hasPendingState, true)
  assert.equal(sent.length, before)
  await assert.rejects(session.sendUpdate([tile]), /no update was requested/)

  client.requestUpdate(true)
  assert.ok(session.wantsUpdate)
  await session.sendUpdate([])
  assert.equal(session.wantsUpdate, false, 'one request has one answer')
  assert.equal(session.hasPendingState, false)
  await client.settled()
  assert.deepEqual(client.sizes, [{ width: 800, height: 600, reason: 0, status: 0 }])
  assert.ok(client.cursor)

  client.requestUpdate(true)
  await session.sendUpdate([])
  assert.ok(session.wantsUpdate, 'without anything to say it is not answered')
})

test('pending requests are answered together', async () => {
  const { client, session } = await startRfbSession({ follows: false })
  const at = (x: number, y: number): Rectangle => ({ x, y, width: 10, height: 10 })
  assert.equal(session.wants(at(0, 0)), false)
  client.requestUpdate(true, at(10, 10))
  assert.ok(session.wants(at(19, 19)))
  for (const beside of [at(0, 10), at(20, 10), at(10, 0), at(10, 20)]) {
    assert.equal(session.wants(beside), false)
  }
  client.requestUpdate(true, at(40, 40))
  assert.ok(session.wants(at(10, 10)))
  assert.ok(session.wants(at(40, 40)))
})

test('a client that lists no quality level gets no JPEG', async () => {
  const painted = await paintPictures(tileArea)
  const { client, session } = await startRfbSession({ encodings: [rfb.tight], follows: false })
  client.requestUpdate(true)
  await session.sendUpdate(painted.map(({ tile }) => tile))
  await client.settled()
  assert.deepEqual(
    client.updates[0]!.map(({ encoding }) => encoding),
    [7, 7, 7, 7, 0],
  )
  assertShown(client.rgb, painted)
})

test('a client without Tight gets raw pixels of every kind of tile', async () => {
  const painted = await paintPictures(tileArea)
  const { client, session } = await startRfbSession({ encodings: [], follows: false })
  client.requestUpdate(false)
  const sizes = painted.map(({ tile }) => session.sizeOf(tile))
  assert.deepEqual(new Set(sizes), new Set([12 + 64 * 32 * 4]))
  await session.sendUpdate(painted.map(({ tile }) => tile))
  await client.settled()
  assert.deepEqual(new Set(client.updates[0]!.map(({ encoding }) => encoding)), new Set([0]))
  assertShown(client.rgb, painted)
})

test('a large body is sent without a copy, small ones are batched', async () => {
  const noise = Array.from({ length: 1 << 17 }, (_, index) => Math.imul(index, 0x9e3779b1) >>> 8)
  const area = { x: 0, y: 0, width: 512, height: 256 }
  const large = await paintTile(area, (x, y) => noise[y * 512 + x]!)
  const small = await paintTile({ ...area, y: 256 }, pictures.fill)
  const { client, session, sent } = await startRfbSession({ geometry: { width: 512, height: 512 } })
  const before = sent.length
  await session.sendUpdate([small.tile, large.tile, small.tile])
  assert.equal(sent.length, before + 3)
  assert.equal(sent.at(-2), large.tile.body)
  await client.until(({ updates }) => updates.at(-1)?.length === 3)
})

test('no other update is wanted while tiles are being decoded', async () => {
  const { tile } = await paintTile(tileArea, pictures.jpeg)
  const { client, session, counts } = await startRfbSession({ encodings: [], follows: false })
  client.requestUpdate(true)
  assert.equal(counts.wanted, 1)
  const sending = session.sendUpdate([tile])
  client.requestUpdate(true)
  assert.equal(session.wantsUpdate, false)
  assert.equal(counts.wanted, 1)
  await sending
  assert.ok(session.wantsUpdate)
  assert.equal(counts.wanted, 2)
})

test('a tile of an earlier geometry is dropped', async () => {
  const { tile } = await paintTile(tileArea, pictures.jpeg)
  const encodings = [rfb.desktopSize]
  const { client, session } = await startRfbSession({ encodings, follows: false })
  client.requestUpdate(true)
  const sending = session.sendUpdate([tile])
  session.setGeometry({ width: 32, height: 32 })
  await sending
  await client.settled()
  assert.deepEqual(client.updates.flat(), [
    { x: 0, y: 0, width: 32, height: 32, encoding: rfb.desktopSize },
  ])
})

test('a geometry that changes and reverts while tiles are decoded leaves the request pending', async () => {
  const { tile } = await paintTile(tileArea, pictures.jpeg)
  const encodings = [rfb.desktopSize]
  const { client, session, counts } = await startRfbSession({ encodings, follows: false })
  client.requestUpdate(true)
  const sending = session.sendUpdate([tile])
  session.setGeometry({ width: 32, height: 32 })
  session.setGeometry({ ...geometry })
  await sending
  await client.settled()
  assert.deepEqual(client.updates, [])
  assert.ok(session.wantsUpdate)
  assert.equal(counts.wanted, 2)
  await session.sendUpdate([tile])
  await client.until(({ updates }) => updates.length === 1)
})

test('tiles are sent in the format that was set while they were decoded', async () => {
  const [fill, jpeg] = [pictures.fill, pictures.jpeg]
  const painted = [await paintTile(tileArea, fill), await paintTile({ ...tileArea, y: 32 }, jpeg)]
  const { client, session } = await startRfbSession({ encodings: [rfb.tight], follows: false })
  client.requestUpdate(true)
  const sending = session.sendUpdate(painted.map(({ tile }) => tile))
  client.setFormat({ ...formatOfServer, depth: 32, bigEndian: true })
  await sending
  await client.settled()
  assert.deepEqual(
    client.updates[0]!.map(({ encoding }) => encoding),
    [0, 0],
  )
  assertShown(client.rgb, painted)
})

test('input events arrive in order', async () => {
  const { client, inputs } = await startRfbSession()
  client.pointer(12, 34, 0b101)
  client.key(0xff0d, true)
  client.key(0xff0d, false)
  assert.deepEqual(inputs, [
    { type: 'pointer', x: 12, y: 34, buttons: 5 },
    { type: 'key', keysym: 0xff0d, down: true },
    { type: 'key', keysym: 0xff0d, down: false },
  ])
})

test('a client that does not support resizing fails on a new size', async () => {
  const { client, session } = await startRfbSession({ encodings: [rfb.tight], follows: false })
  session.setGeometry({ width: 800, height: 600 })
  client.requestUpdate(true)
  await assert.rejects(session.sendUpdate([]), RfbError)
})

const cursor = {
  type: 'cursor',
  width: 1,
  height: 1,
  x: 0,
  y: 0,
  pixels: Buffer.of(1, 2, 3, 255).toString('base64'),
} as const

/** Stacks the tiles, each as wide as the screen. A JPEG comes last. */
function assertShown(
  screen: Buffer,
  painted: readonly { rgb: Buffer; tile: Rectangle & { body: Buffer } }[],
) {
  for (const { rgb, tile } of painted) {
    const at = tile.y * tile.width * 3
    const most = tile.body[0] === 0x90 ? jpegDifference : 0
    assert.ok(difference(screen.subarray(at, at + rgb.length), rgb) <= most, `${tile.body[0]}`)
  }
}
