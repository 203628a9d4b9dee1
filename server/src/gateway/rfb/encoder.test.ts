import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatOf16Bits } from '../../../test/rfb-format.ts'
import { rfb } from '../../../test/rfb-messages.ts'
import { paintTile, pictures } from '../../../test/rfb-pictures.ts'
import { startViewing } from '../../../test/rfb-viewing.ts'
import type { Cursor } from './cursor.ts'

const tileArea = { x: 0, y: 0, width: 64, height: 32 }
const pixels = Buffer.from(
  [
    [200, 100, 50, 255],
    [0, 0, 0, 0],
    [200, 100, 50, 128],
  ].flat(),
)
const cursor: Cursor = {
  type: 'cursor',
  width: 1,
  height: 3,
  x: 0,
  y: 2,
  pixels: pixels.toString('base64'),
}

test('a viewer that wants the screen anew learns its layout, and then is shown it', async () => {
  const { tile } = await paintTile(tileArea, pictures.fill)
  const { client, viewer, refreshed } = await startViewing({ follows: false })
  client.requestUpdate(false)
  await client.settled()
  assert.deepEqual(client.sizes, [{ width: 64, height: 160, reason: 0, status: 0 }])
  assert.equal(refreshed.length, 1)
  assert.ok(viewer.wantsUpdate, 'the pixels are still to come')
  await viewer.sendUpdate([tile])
  await client.settled()
  assert.deepEqual(
    client.updates.map((update) => update.map(({ encoding }) => encoding)),
    [[rfb.extendedDesktopSize], [rfb.tight]],
  )
})

for (const encoding of [rfb.desktopSize, rfb.extendedDesktopSize]) {
  test(`a new geometry is told by ${encoding} before the tiles of it`, async () => {
    const { tile } = await paintTile({ ...tileArea, x: 100 }, pictures.fill)
    const encodings = [rfb.tight, encoding]
    const { client, viewer } = await startViewing({ encodings, follows: false })
    viewer.setGeometry({ width: 200, height: 32 })
    assert.ok(viewer.hasPendingState)
    client.requestUpdate(true)
    await viewer.sendUpdate([tile])
    await client.settled()
    assert.deepEqual(client.sizes, [{ width: 200, height: 32, reason: 0, status: 0 }])
    assert.deepEqual(
      client.updates.map((update) => update.map((rectangle) => rectangle.encoding)),
      [[encoding], [rfb.tight]],
    )
    assert.equal(client.pixel(100, 0), pictures.fill())
    assert.equal(viewer.hasPendingState, false)
  })
}

test('a geometry that comes before the handshake is over is told with it', async () => {
  const { client, viewer } = await startViewing({ geometry: { width: 320, height: 200 } })
  assert.equal(client.width, 320)
  assert.equal(viewer.hasPendingState, false)
})

test('a wish for a size is passed on, refused or not possible', async () => {
  const wished = { width: 1024, height: 768 }
  const free = await startViewing({ follows: false })
  free.client.setDesktopSize(wished)
  await free.client.settled()
  assert.deepEqual(free.inputs, [{ type: 'resize', ...wished }])
  assert.equal(free.client.sizes.at(-1)?.status, 4)
  assert.equal(free.client.sizes.at(-1)?.reason, 1)
  assert.equal(free.client.width, 64, 'it has the size once the machine has it')

  const bound = await startViewing({ follows: false, mayInput: false })
  bound.client.setDesktopSize(wished)
  await bound.client.settled()
  assert.equal(bound.client.sizes.at(-1)?.status, 1)

  const impossible = [
    { width: 319, height: 768 },
    { width: 1024, height: 199 },
    { width: 7681, height: 768 },
    { width: 1024, height: 4321 },
  ]
  for (const size of impossible) free.client.setDesktopSize(size)
  free.client.setDesktopSize(wished, 0)
  free.client.setDesktopSize(wished, 2)
  await free.client.settled()
  assert.equal(free.inputs.length, 1)
  assert.deepEqual(
    free.client.sizes.slice(1).map(({ status }) => status),
    [3, 3, 3, 3, 3, 3],
  )
})

test('the answer to a wish does not tell the size that the screen has meanwhile', async () => {
  const { client, viewer } = await startViewing({ follows: false })
  viewer.setGeometry({ width: 800, height: 600 })
  client.setDesktopSize({ width: 1024, height: 768 })
  assert.ok(viewer.hasPendingState)
  client.requestUpdate(true)
  await viewer.sendUpdate([])
  await client.settled()
  assert.deepEqual(
    client.sizes.map(({ reason, width }) => ({ reason, width })),
    [
      { reason: 1, width: 64 },
      { reason: 0, width: 800 },
    ],
  )
})

test('a cursor with half-transparent pixels is told as the viewer understands it', async () => {
  const show = async (encodings: readonly number[]) => {
    const { client, viewer } = await startViewing({ encodings, follows: false })
    viewer.setCursor(cursor)
    client.requestUpdate(true)
    await viewer.sendUpdate([])
    await client.settled()
    return client.cursor
  }
  const place = { x: 0, y: 2, width: 1, height: 3 }
  assert.deepEqual(await show([rfb.cursor, rfb.vmwareCursor, rfb.cursorWithAlpha]), {
    ...place,
    encoding: rfb.cursorWithAlpha,
    rgba: Buffer.from([200, 100, 50, 255, 0, 0, 0, 0, 100, 50, 25, 128]),
  })
  assert.deepEqual(await show([rfb.cursor, rfb.vmwareCursor]), {
    ...place,
    encoding: rfb.vmwareCursor,
    rgba: pixels,
  })
  assert.deepEqual(await show([rfb.cursor]), {
    ...place,
    encoding: rfb.cursor,
    rgba: Buffer.from([200, 100, 50, 255, 0, 0, 0, 0, 200, 100, 50, 255]),
  })
  assert.equal(await show([rfb.tight]), undefined)
})

test("a cursor's mask has a bit a pixel, each row from a byte of its own", async () => {
  const [width, height] = [9, 2]
  const isSet = (index: number) => index % 3 === 0
  const rgba = Buffer.alloc(width * height * 4)
  for (let index = 0; index < width * height; index++) {
    if (isSet(index)) rgba.fill(255, index * 4, index * 4 + 4)
  }
  const { client, viewer } = await startViewing({
    encodings: [rfb.cursor],
    format: formatOf16Bits,
    follows: false,
  })
  viewer.setCursor({ type: 'cursor', width, height, x: 0, y: 0, pixels: rgba.toString('base64') })
  client.requestUpdate(true)
  await viewer.sendUpdate([])
  await client.settled()
  assert.deepEqual(client.cursor?.rgba, rgba)
})

test('a cursor is told once, and again to a viewer that understands another form of it', async () => {
  const { client, viewer } = await startViewing({ encodings: [rfb.cursor] })
  viewer.setCursor(cursor)
  await viewer.sendUpdate([])
  await client.until((shown) => shown.cursor)
  assert.equal(viewer.hasPendingState, false)
  client.setEncodings([rfb.cursor, rfb.quality6])
  assert.equal(viewer.hasPendingState, false)
  client.setEncodings([rfb.cursorWithAlpha])
  assert.equal(viewer.hasPendingState, true)
})

test('what is no picture of a cursor is left out', async () => {
  const { viewer } = await startViewing()
  const wrong: Partial<Cursor>[] = [
    { width: 2 },
    { height: -3, width: -1 },
    { x: 70_000 },
    { y: -1 },
    { width: 0 },
    { pixels: '' },
    { pixels: '!'.repeat(16) },
  ]
  for (const part of wrong) viewer.setCursor({ ...cursor, ...part })
  assert.equal(viewer.hasPendingState, false)
  viewer.setCursor({ ...cursor, width: 0, height: 0, pixels: '' })
  assert.equal(viewer.hasPendingState, true, 'none is one')
})
