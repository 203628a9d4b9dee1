import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatOfNovnc, formatOfServer } from '../../../test/rfb-format.ts'
import { rfb } from '../../../test/rfb-messages.ts'
import { difference, paintPictures, paintTile, pictures } from '../../../test/rfb-pictures.ts'
import { startViewing } from '../../../test/rfb-viewing.ts'
import { RfbError } from './error.ts'
import type { Rectangle } from './tile.ts'

const geometry = { width: 64, height: 160 }
const tileArea = { x: 0, y: 0, width: 64, height: 32 }
/** JPEG keeps no pixel as it was. */
const jpegDifference = 24

for (const version of ['003.003', '003.005', '003.007', '003.008', '003.889'] as const) {
  test(`a client of ${version} is told the desktop`, async () => {
    const name = 'Büro – 🖥'
    const { client, viewer } = await startViewing({ version, name, format: null, follows: false })
    assert.ok(viewer.isReady)
    assert.equal(client.name, name)
    assert.deepEqual({ width: client.width, height: client.height }, geometry)
    assert.deepEqual(client.format, formatOfServer)
    assert.equal(viewer.wantsUpdate, false)
  })
}

test('a viewer as noVNC is shown the tiles as they are', async () => {
  const painted = await paintPictures(tileArea)
  const { client, viewer, refreshed, counts } = await startViewing({ format: formatOfNovnc })
  assert.deepEqual(refreshed, [{ x: 0, y: 0, ...geometry }])
  assert.ok(viewer.wantsUpdate)

  const before = counts.wanted
  await viewer.sendUpdate(painted.map(({ tile }) => tile))
  await client.until(({ updates }) => updates.at(-1)?.length === painted.length)
  assert.deepEqual(new Set(client.updates.at(-1)!.map(({ encoding }) => encoding)), new Set([7]))
  assertShown(client.rgb, painted)
  assert.equal(counts.wanted, before + 1, 'the viewer asked for the next')
  assert.ok(viewer.wantsUpdate)
})

test('nothing is sent that was not asked for', async () => {
  const { tile } = await paintTile(tileArea, pictures.fill)
  const { client, viewer, sent } = await startViewing({ follows: false })
  const before = sent.length
  viewer.setCursor(cursor)
  viewer.setGeometry({ width: 800, height: 600 })
  assert.equal(viewer.wantsUpdate, false)
  assert.equal(viewer.hasPendingState, true)
  assert.equal(sent.length, before)
  await assert.rejects(viewer.sendUpdate([tile]), /no update was requested/)

  client.requestUpdate(true)
  assert.ok(viewer.wantsUpdate)
  await viewer.sendUpdate([])
  assert.equal(viewer.wantsUpdate, false, 'one request has one answer')
  assert.equal(viewer.hasPendingState, false)
  await client.settled()
  assert.deepEqual(client.sizes, [{ width: 800, height: 600, reason: 0, status: 0 }])
  assert.ok(client.cursor)

  client.requestUpdate(true)
  await viewer.sendUpdate([])
  assert.ok(viewer.wantsUpdate, 'without anything to say it is not answered')
})

test('requests that were not answered are answered together', async () => {
  const { client, viewer } = await startViewing({ follows: false })
  const at = (x: number, y: number): Rectangle => ({ x, y, width: 10, height: 10 })
  assert.equal(viewer.wants(at(0, 0)), false)
  client.requestUpdate(true, at(10, 10))
  assert.ok(viewer.wants(at(19, 19)))
  for (const beside of [at(0, 10), at(20, 10), at(10, 0), at(10, 20)]) {
    assert.equal(viewer.wants(beside), false)
  }
  client.requestUpdate(true, at(40, 40))
  assert.ok(viewer.wants(at(10, 10)))
  assert.ok(viewer.wants(at(40, 40)))
})

test('a viewer that names no quality gets no JPEG', async () => {
  const painted = await paintPictures(tileArea)
  const { client, viewer } = await startViewing({ encodings: [rfb.tight], follows: false })
  client.requestUpdate(true)
  await viewer.sendUpdate(painted.map(({ tile }) => tile))
  await client.settled()
  assert.deepEqual(
    client.updates[0]!.map(({ encoding }) => encoding),
    [7, 7, 7, 7, 0],
  )
  assertShown(client.rgb, painted)
})

test('a viewer without Tight gets pixels, in whichever format they are made of', async () => {
  const painted = await paintPictures(tileArea)
  const { client, viewer } = await startViewing({ encodings: [], follows: false })
  client.requestUpdate(false)
  const sizes = painted.map(({ tile }) => viewer.sizeOf(tile))
  assert.deepEqual(new Set(sizes), new Set([12 + 64 * 32 * 4]))
  await viewer.sendUpdate(painted.map(({ tile }) => tile))
  await client.settled()
  assert.deepEqual(new Set(client.updates[0]!.map(({ encoding }) => encoding)), new Set([0]))
  assertShown(client.rgb, painted)
})

test('a large body is sent from where it is, small ones together', async () => {
  const noise = Array.from({ length: 1 << 17 }, (_, index) => Math.imul(index, 0x9e3779b1) >>> 8)
  const area = { x: 0, y: 0, width: 512, height: 256 }
  const large = await paintTile(area, (x, y) => noise[y * 512 + x]!)
  const small = await paintTile({ ...area, y: 256 }, pictures.fill)
  const { client, viewer, sent } = await startViewing({ geometry: { width: 512, height: 512 } })
  const before = sent.length
  await viewer.sendUpdate([small.tile, large.tile, small.tile])
  assert.equal(sent.length, before + 3)
  assert.equal(sent.at(-2), large.tile.body)
  await client.until(({ updates }) => updates.at(-1)?.length === 3)
})

test('while tiles are decoded no other update is wanted', async () => {
  const { tile } = await paintTile(tileArea, pictures.jpeg)
  const { client, viewer, counts } = await startViewing({ encodings: [], follows: false })
  client.requestUpdate(true)
  assert.equal(counts.wanted, 1)
  const sending = viewer.sendUpdate([tile])
  client.requestUpdate(true)
  assert.equal(viewer.wantsUpdate, false)
  assert.equal(counts.wanted, 1)
  await sending
  assert.ok(viewer.wantsUpdate)
  assert.equal(counts.wanted, 2)
})

test('a tile of an earlier geometry is left out', async () => {
  const { tile } = await paintTile(tileArea, pictures.jpeg)
  const encodings = [rfb.desktopSize]
  const { client, viewer } = await startViewing({ encodings, follows: false })
  client.requestUpdate(true)
  const sending = viewer.sendUpdate([tile])
  viewer.setGeometry({ width: 32, height: 32 })
  await sending
  await client.settled()
  assert.deepEqual(client.updates.flat(), [
    { x: 0, y: 0, width: 32, height: 32, encoding: rfb.desktopSize },
  ])
})

test('a geometry that comes and goes while tiles are decoded leaves the update wanted', async () => {
  const { tile } = await paintTile(tileArea, pictures.jpeg)
  const encodings = [rfb.desktopSize]
  const { client, viewer, counts } = await startViewing({ encodings, follows: false })
  client.requestUpdate(true)
  const sending = viewer.sendUpdate([tile])
  viewer.setGeometry({ width: 32, height: 32 })
  viewer.setGeometry({ ...geometry })
  await sending
  await client.settled()
  assert.deepEqual(client.updates, [])
  assert.ok(viewer.wantsUpdate)
  assert.equal(counts.wanted, 2)
  await viewer.sendUpdate([tile])
  await client.until(({ updates }) => updates.length === 1)
})

test('a format that changes while tiles are decoded is the one that they are sent in', async () => {
  const [fill, jpeg] = [pictures.fill, pictures.jpeg]
  const painted = [await paintTile(tileArea, fill), await paintTile({ ...tileArea, y: 32 }, jpeg)]
  const { client, viewer } = await startViewing({ encodings: [rfb.tight], follows: false })
  client.requestUpdate(true)
  const sending = viewer.sendUpdate(painted.map(({ tile }) => tile))
  client.setFormat({ ...formatOfServer, depth: 32, bigEndian: true })
  await sending
  await client.settled()
  assert.deepEqual(
    client.updates[0]!.map(({ encoding }) => encoding),
    [0, 0],
  )
  assertShown(client.rgb, painted)
})

test('input comes as it was done', async () => {
  const { client, inputs } = await startViewing()
  client.pointer(12, 34, 0b101)
  client.key(0xff0d, true)
  client.key(0xff0d, false)
  assert.deepEqual(inputs, [
    { type: 'pointer', x: 12, y: 34, buttons: 5 },
    { type: 'key', keysym: 0xff0d, down: true },
    { type: 'key', keysym: 0xff0d, down: false },
  ])
})

test('a viewer that cannot follow a new size is of no more use', async () => {
  const { client, viewer } = await startViewing({ encodings: [rfb.tight], follows: false })
  viewer.setGeometry({ width: 800, height: 600 })
  client.requestUpdate(true)
  await assert.rejects(viewer.sendUpdate([]), RfbError)
})

const cursor = {
  type: 'cursor',
  width: 1,
  height: 1,
  x: 0,
  y: 0,
  pixels: Buffer.of(1, 2, 3, 255).toString('base64'),
} as const

/** The tiles lie below each other and are as wide as the screen; the last is JPEG, if there is one. */
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
