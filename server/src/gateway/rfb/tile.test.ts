import fc from 'fast-check'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deflateSync } from 'node:zlib'
import { ByteReader } from '../../../test/byte-reader.ts'
import { formatOfServer } from '../../../test/rfb-format.ts'
import { u16 } from '../../../test/rfb-messages.ts'
import { difference, paintTile, pictures } from '../../../test/rfb-pictures.ts'
import { readTight } from '../../../test/rfb-pixels.ts'
import { decodeTile } from './tile-pixels.ts'
import { isJpeg, readTile, TileError, type Tile } from './tile.ts'

const controls = { fill: 0x80, bits: 0x41, palette: 0x41, copied: 0x01, jpeg: 0x90 } as const

for (const [name, picture] of Object.entries(pictures)) {
  test(`a tile encoded by the agent decodes to its pixels: ${name}`, async () => {
    for (const [width, height] of [
      [256, 128],
      [61, 33],
    ] as const) {
      const { tile, rgb } = await paintTile({ x: 3, y: 5, width, height }, picture)
      assert.equal(tile.body[0], controls[name as keyof typeof controls])
      assert.deepEqual([tile.x, tile.y, tile.width, tile.height], [3, 5, width, height])
      const decoded = await decodeTile(tile)
      assert.ok(difference(decoded, rgb) <= (isJpeg(tile) ? 24 : 0))
      assert.equal(decodeTile(tile), decodeTile(tile), 'once for all clients')

      const reader = new ByteReader()
      reader.push(tile.body)
      const shown = await readTight(reader, tile, formatOfServer, { mayBeJpeg: true })
      assert.ok(reader.isEmpty)
      assert.deepEqual(shown, decoded)
    }
  })
}

test('a tile too small to be compressed', async () => {
  for (const [width, height] of [
    [1, 1],
    [2, 1],
    [3, 2],
    [11, 1],
  ] as const) {
    const { tile, rgb } = await paintTile({ x: 0, y: 0, width, height }, (x) => x * 0x10203)
    assert.deepEqual(await decodeTile(tile), rgb)
  }
})

const area = { x: 0, y: 0, width: 8, height: 8 }
const counted = (data: Buffer) => Buffer.concat([Buffer.of(data.length), data])
const malformed: Record<string, Buffer> = {
  'a body with control byte 0': Buffer.of(0),
  'a body with control byte 160': Buffer.of(0xa0, 0),
  'a fill of 3 bytes': Buffer.of(0x80, 1, 2),
  'a fill of 5 bytes': Buffer.of(0x80, 1, 2, 3, 4),
  'not a JPEG': Buffer.concat([Buffer.of(0x90), counted(Buffer.from('<svg/>'))]),
  '3 bytes of data instead of 2': Buffer.of(0x90, 2, 0xff, 0xd8, 0),
  '1 bytes of data instead of 2': Buffer.of(0x01, 2, 0),
  'not a palette filter': Buffer.of(0x41, 2, 1, 0, 0, 0, 0, 0, 0, 1, 0),
}
for (const [reason, body] of Object.entries(malformed)) {
  test(`refused: ${reason}`, () => {
    assert.throws(() => read(body), { name: 'TileError', message: reason })
  })
}

test('refused: no pixels, too many, or too wide', () => {
  const fill = Buffer.of(0x80, 1, 2, 3)
  for (const [width, height] of [
    [0, 8],
    [8, 0],
    [2049, 1],
    [2048, 513],
  ] as const) {
    assert.throws(() => read(fill, { ...area, width, height }), TileError)
  }
  assert.equal(read(fill, { ...area, width: 2048, height: 512 }).width, 2048)
  assert.throws(() => readTile(u16(0, 0, 8, 8)), TileError)
})

test('bodies with a wrong number of pixels, or without pixels, fail to decode', async () => {
  const copied = (bytes: number) =>
    Buffer.concat([Buffer.of(0x01), counted(deflateSync(Buffer.alloc(bytes)))])
  const palette = Buffer.of(0x41, 1, 2, ...Array(9).fill(0))
  const beyond = counted(deflateSync(Buffer.alloc(64, 3)))
  const jpeg = (await paintTile({ ...area, width: 64, height: 64 }, pictures.jpeg)).tile.body
  for (const body of [
    copied(191),
    copied(193),
    copied(10_000),
    Buffer.of(0x01, 4, 1, 2, 3, 4),
    Buffer.concat([palette, beyond]),
    Buffer.of(0x90, 4, 0xff, 0xd8, 0xff, 0xd9),
    jpeg,
  ]) {
    await assert.rejects(decodeTile(read(body)), TileError)
  }
  assert.equal((await decodeTile(read(copied(192)))).length, 192)
})

test('any input is read as a tile or refused with TileError', async () => {
  const start = fc.constantFrom([0x80], [0x01], [0x41, 1], [0x90, 20, 0xff, 0xd8], [])
  const property = fc.asyncProperty(
    start,
    fc.uint8Array({ maxLength: 40 }),
    fc.integer({ min: 1, max: 12 }),
    async (head, rest, width) => {
      try {
        const tile = read(Buffer.from([...head, ...rest]), { ...area, width })
        assert.equal((await decodeTile(tile)).length, width * 8 * 3)
      } catch (error) {
        assert.ok(error instanceof TileError, `${error}`)
      }
    },
  )
  await fc.assert(property, { numRuns: 500 })
})

function read(body: Buffer, { x, y, width, height } = area): Tile {
  return readTile(Buffer.concat([u16(x, y, width, height), body]))
}
