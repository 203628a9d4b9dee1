import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatOf16Bits } from '../../../test/rfb-format.ts'
import { rfb } from '../../../test/rfb-messages.ts'
import { paintTile, pictures } from '../../../test/rfb-pictures.ts'
import { startRfbSession } from '../../../test/rfb-session.ts'
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

test('a full update request is answered with the layout, then with the screen', async () => {
  const { tile } = await paintTile(tileArea, pictures.fill)
  const { client, session, refreshed } = await startRfbSession({ follows: false })
  client.requestUpdate(false)
  await client.settled()
  assert.deepEqual(client.sizes, [{ width: 64, height: 160, reason: 0, status: 0 }])
  assert.equal(refreshed.length, 1)
  assert.ok(session.wantsUpdate, 'the pixels are still to come')
  await session.sendUpdate([tile])
  await client.settled()
  assert.deepEqual(
    client.updates.map((update) => update.map(({ encoding }) => encoding)),
    [[rfb.extendedDesktopSize], [rfb.tight]],
  )
})

for (const encoding of [rfb.desktopSize, rfb.extendedDesktopSize]) {
  test(`a new geometry is sent by ${encoding} before its tiles`, async () => {
    const { tile } = await paintTile({ ...tileArea, x: 100 }, pictures.fill)
    const encodings = [rfb.tight, encoding]
    const { client, session } = await startRfbSession({ encodings, follows: false })
    session.setGeometry({ width: 200, height: 32 })
    assert.ok(session.hasPendingState)
    client.requestUpdate(true)
    await session.sendUpdate([tile])
    await client.settled()
    assert.deepEqual(client.sizes, [{ width: 200, height: 32, reason: 0, status: 0 }])
    assert.deepEqual(
      client.updates.map((update) => update.map((rectangle) => rectangle.encoding)),
      [[encoding], [rfb.tight]],
    )
    assert.equal(client.pixel(100, 0), pictures.fill())
    assert.equal(session.hasPendingState, false)
  })
}

test('a geometry set during the handshake is sent with it', async () => {
  const { client, session } = await startRfbSession({ geometry: { width: 320, height: 200 } })
  assert.equal(client.width, 320)
  assert.equal(session.hasPendingState, false)
})

test('a size request is forwarded, prohibited or invalid', async () => {
  const requested = { width: 1024, height: 768 }
  const free = await startRfbSession({ follows: false })
  free.client.setDesktopSize(requested)
  await free.client.settled()
  assert.deepEqual(free.inputs, [{ type: 'resize', ...requested }])
  assert.equal(free.client.sizes.at(-1)?.status, 4)
  assert.equal(free.client.sizes.at(-1)?.reason, 1)
  assert.equal(free.client.width, 64, 'it has the size once the machine has it')

  const bound = await startRfbSession({ follows: false, mayInput: false })
  bound.client.setDesktopSize(requested)
  await bound.client.settled()
  assert.equal(bound.client.sizes.at(-1)?.status, 1)

  const impossible = [
    { width: 319, height: 768 },
    { width: 1024, height: 199 },
    { width: 7681, height: 768 },
    { width: 1024, height: 4321 },
  ]
  for (const size of impossible) free.client.setDesktopSize(size)
  free.client.setDesktopSize(requested, 0)
  free.client.setDesktopSize(requested, 2)
  await free.client.settled()
  assert.equal(free.inputs.length, 1)
  assert.deepEqual(
    free.client.sizes.slice(1).map(({ status }) => status),
    [3, 3, 3, 3, 3, 3],
  )
})

test('the reply to a size request does not announce a size that changed meanwhile', async () => {
  const { client, session } = await startRfbSession({ follows: false })
  session.setGeometry({ width: 800, height: 600 })
  client.setDesktopSize({ width: 1024, height: 768 })
  assert.ok(session.hasPendingState)
  client.requestUpdate(true)
  await session.sendUpdate([])
  await client.settled()
  assert.deepEqual(
    client.sizes.map(({ reason, width }) => ({ reason, width })),
    [
      { reason: 1, width: 64 },
      { reason: 0, width: 800 },
    ],
  )
})

test('a translucent cursor is sent in the form that the client supports', async () => {
  const show = async (encodings: readonly number[]) => {
    const { client, session } = await startRfbSession({ encodings, follows: false })
    session.setCursor(cursor)
    client.requestUpdate(true)
    await session.sendUpdate([])
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

test('the mask of a cursor has one bit per pixel, each row padded to a byte', async () => {
  const [width, height] = [9, 2]
  const isSet = (index: number) => index % 3 === 0
  const rgba = Buffer.alloc(width * height * 4)
  for (let index = 0; index < width * height; index++) {
    if (isSet(index)) rgba.fill(255, index * 4, index * 4 + 4)
  }
  const { client, session } = await startRfbSession({
    encodings: [rfb.cursor],
    format: formatOf16Bits,
    follows: false,
  })
  session.setCursor({ type: 'cursor', width, height, x: 0, y: 0, pixels: rgba.toString('base64') })
  client.requestUpdate(true)
  await session.sendUpdate([])
  await client.settled()
  assert.deepEqual(client.cursor?.rgba, rgba)
})

test('a cursor is sent once, and again when the client switches to another form', async () => {
  const { client, session } = await startRfbSession({ encodings: [rfb.cursor] })
  session.setCursor(cursor)
  await session.sendUpdate([])
  await client.until((shown) => shown.cursor)
  assert.equal(session.hasPendingState, false)
  client.setEncodings([rfb.cursor, rfb.quality6])
  assert.equal(session.hasPendingState, false)
  client.setEncodings([rfb.cursorWithAlpha])
  assert.equal(session.hasPendingState, true)
})

test('invalid cursors are ignored', async () => {
  const { session } = await startRfbSession()
  const wrong: Partial<Cursor>[] = [
    { width: 2 },
    { height: -3, width: -1 },
    { x: 70_000 },
    { y: -1 },
    { width: 0 },
    { pixels: '' },
    { pixels: '!'.repeat(16) },
  ]
  for (const part of wrong) session.setCursor({ ...cursor, ...part })
  assert.equal(session.hasPendingState, false)
  session.setCursor({ ...cursor, width: 0, height: 0, pixels: '' })
  assert.equal(session.hasPendingState, true, 'none is one')
})
