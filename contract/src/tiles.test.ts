import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  encodeCompactLength,
  encodeTileHeader,
  readCompactLength,
  readTileHeader,
  tileHeaderBytes,
} from './tiles.ts'

const uint16 = fc.nat(0xffff)
const areas = fc.record(
  { x: uint16, y: uint16, width: uint16, height: uint16 },
  { noNullPrototype: true },
)

test('a tile header is read as it was encoded', () => {
  fc.assert(
    fc.property(areas, (area) => {
      const header = encodeTileHeader(area)
      assert.equal(header.length, tileHeaderBytes)
      assert.deepEqual(readTileHeader(header), area)
    }),
  )
})

test('a compact length is read as it was encoded, in as few bytes as it needs', () => {
  fc.assert(
    fc.property(fc.nat((1 << 22) - 1), fc.uint8Array({ maxLength: 3 }), (length, rest) => {
      const encoded = encodeCompactLength(length)
      const read = readCompactLength(Buffer.concat([encoded, rest]))
      assert.deepEqual(read, { length, bytes: encoded.length })
      assert.equal(encoded.length, length < 1 << 7 ? 1 : length < 1 << 14 ? 2 : 3)
    }),
  )
  assert.deepEqual(
    [...encodeCompactLength(10_000)],
    [0x90, 0x4e],
    "the RFB specification's example",
  )
})
