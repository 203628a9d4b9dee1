import fc from 'fast-check'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  formatOf16Bits,
  formatOfNovnc,
  formatOfServer,
  readFormat,
  unpackChannels,
  writeFormat,
  type TestFormat,
} from '../../../test/rfb-format.ts'
import { RfbError } from './error.ts'
import {
  hasTightPixels,
  naturalFormat,
  pixelPacker,
  readPixelFormat,
  writePixelFormat,
} from './pixel-format.ts'

type Three = [number, number, number]

/** Three channels of any width and order with any gaps, in 8, 16 or 32 bits. */
const anyFormat: fc.Arbitrary<TestFormat> = fc
  .tuple(fc.constantFrom(8, 16, 32), fc.boolean(), fc.shuffledSubarray([0, 1, 2], { minLength: 3 }))
  .chain(([bits, bigEndian, order]) =>
    fc.uniqueArray(fc.nat({ max: bits }), { minLength: 6, maxLength: 6 }).map((edges) => {
      const [from, to, from2, to2, from3, to3] = edges.sort((a, b) => a - b) as [...Three, ...Three]
      const spans = [
        [from, Math.min(to, from + 16)],
        [from2, Math.min(to2, from2 + 16)],
        [from3, Math.min(to3, from3 + 16)],
      ] as const
      const places = order.map((place) => spans[place]!)
      const max = places.map(([low, high]) => 2 ** (high - low) - 1) as Three
      return { bits, depth: bits, bigEndian, max, shift: places.map(([low]) => low) as Three }
    }),
  )

test('pixels are packed correctly for any format', () => {
  const channel = fc.nat({ max: 255 })
  const pixel = fc.tuple(channel, channel, channel, channel)
  const property = fc.property(
    anyFormat,
    fc.array(pixel, { minLength: 1, maxLength: 20 }),
    (format, pixels) => {
      const pack = pixelPacker(readPixelFormat(writeFormat(format)))
      const expected = pixels.map((values) =>
        format.max.map((max, index) => Math.round((values[index]! * max) / 255)),
      )
      const rgb = Buffer.from(pixels.flatMap((values) => values.slice(0, 3)))
      assert.deepEqual(unpackChannels(pack(rgb, 3), format), expected)
      assert.deepEqual(unpackChannels(pack(Buffer.from(pixels.flat()), 4), format), expected)
    },
  )
  fc.assert(property, { numRuns: 500 })
})

test('a format that is written reads back the same', () => {
  fc.assert(
    fc.property(anyFormat, (format) => {
      const bytes = writeFormat(format)
      assert.deepEqual(writePixelFormat(readPixelFormat(bytes)), bytes)
    }),
  )
  assert.deepEqual(readFormat(writePixelFormat(naturalFormat)), formatOfServer)
})

test('Tight pixels need a format with one byte per colour', () => {
  const isTight = (format: Partial<TestFormat>) =>
    hasTightPixels(readPixelFormat(writeFormat({ ...formatOfNovnc, ...format })))
  assert.ok(isTight({}))
  assert.ok(isTight({ bigEndian: true }))
  assert.ok(isTight({ shift: [24, 16, 8] }))
  assert.ok(!isTight({ depth: 32 }))
  assert.ok(!isTight({ shift: [0, 9, 20] }))
  assert.ok(!isTight({ max: [255, 127, 255] }))
  assert.ok(!isTight(formatOf16Bits))
})

const malformed: Record<string, Partial<TestFormat>> = {
  'a pixel format with 24 bits per pixel': { bits: 24 },
  'a pixel format with 0 bits per pixel': { bits: 0 },
  'a depth of 0 in 32 bits': { depth: 0 },
  'a depth of 33 in 32 bits': { depth: 33 },
  'a colour maximum of 0': { max: [255, 0, 255] },
  'a colour maximum of 254': { max: [255, 254, 255] },
  'a pixel format with overlapping or oversized colours': { shift: [0, 8, 25] },
}
for (const [reason, part] of Object.entries(malformed)) {
  test(`refused: ${reason}`, () => {
    const bytes = writeFormat({ ...formatOfNovnc, ...part })
    assert.throws(() => readPixelFormat(bytes), { name: 'RfbError', message: reason })
  })
}

test('refused: overlapping colours, colours out of range, colour maps', () => {
  const overlapping = writeFormat({ ...formatOfNovnc, shift: [0, 7, 16] })
  const far = writeFormat({ ...formatOfNovnc, shift: [0, 8, 255] })
  const mapped = writeFormat(formatOfNovnc)
  mapped[3] = 0
  for (const bytes of [overlapping, far, mapped]) {
    assert.throws(() => readPixelFormat(bytes), RfbError)
  }
})
