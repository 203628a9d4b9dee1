import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { encodeControl, encodeFrame, FrameReader } from './guest-frames.ts'
import { limitsFromGuest } from './guest-streams.ts'

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array))
const frame = fc.record({ kind: fc.nat(1), payload: bytes }, { noNullPrototype: true })
const frames = fc.array(frame, { maxLength: 20 })

test('frames are decoded as they were encoded, however the stream is split', () => {
  const property = fc.property(frames, fc.array(fc.nat(40), { minLength: 1 }), (sent, cuts) => {
    const stream = Buffer.concat(sent.map(({ kind, payload }) => encodeFrame(kind, payload)))
    const reader = new FrameReader(limitsFromGuest)
    const received = []
    for (let at = 0, turn = 0; at < stream.length; turn++) {
      const end = at + 1 + cuts[turn % cuts.length]!
      for (const { kind, payload } of reader.push(stream.subarray(at, end))) {
        received.push({ kind, payload: Buffer.from(payload) })
      }
      at = end
    }
    assert.deepEqual(received, sent)
  })
  fc.assert(property, { numRuns: 500 })
})

test('a frame can have several parts, and a control frame has JSON', () => {
  const reader = new FrameReader(limitsFromGuest)
  const stream = Buffer.concat([
    encodeFrame(1, Buffer.from('a'), Buffer.from('bc')),
    encodeControl({ a: 1 }),
  ])
  const [payload, control] = [...reader.push(stream)]
  assert.deepEqual([payload!.kind, payload!.payload.toString()], [1, 'abc'])
  assert.deepEqual([control!.kind, JSON.parse(control!.payload.toString())], [0, { a: 1 }])
})

test('a frame that is too long is refused before its payload arrives, by the limit of its kind', () => {
  const push = (kind: number, bytes: number) => {
    const reader = new FrameReader({ control: 10, payload: 20 })
    return [...reader.push(encodeFrame(kind, Buffer.alloc(bytes)).subarray(0, 5))]
  }
  assert.deepEqual([push(0, 10), push(1, 20)], [[], []])
  assert.throws(() => push(0, 11), /11 bytes exceeds the limit of 10/)
  assert.throws(() => push(1, 21), /21 bytes exceeds the limit of 20/)
  assert.throws(() => push(2, 1), /unknown kind 2/)
})

test('a frame that arrives byte by byte costs no more memory than it is long', () => {
  const reader = new FrameReader(limitsFromGuest)
  const frame = encodeFrame(1, Buffer.alloc(2 * 1024 * 1024))
  const before = process.memoryUsage()
  const frames = []
  for (const byte of frame) frames.push(...reader.push(Buffer.of(byte)))
  assert.equal(frames[0]!.payload.length, 2 * 1024 * 1024)
  const after = process.memoryUsage()
  const heldBytes = after.heapUsed - before.heapUsed + after.external - before.external
  assert.ok(heldBytes < 64 * 1024 * 1024, `${heldBytes} bytes`)
})
