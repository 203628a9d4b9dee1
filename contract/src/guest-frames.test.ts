import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { encodeControl, encodeFrame, FrameReader } from './guest-frames.ts'

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array))
const frame = fc.record({ kind: fc.nat(255), payload: bytes }, { noNullPrototype: true })
const frames = fc.array(frame, { maxLength: 20 })

test('frames are decoded as they were encoded, however the stream is split', () => {
  const property = fc.property(frames, fc.array(fc.nat(40), { minLength: 1 }), (sent, cuts) => {
    const stream = Buffer.concat(sent.map(({ kind, payload }) => encodeFrame(kind, payload)))
    const reader = new FrameReader()
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
  const reader = new FrameReader()
  const stream = Buffer.concat([
    encodeFrame(1, Buffer.from('a'), Buffer.from('bc')),
    encodeControl({ a: 1 }),
  ])
  const [payload, control] = [...reader.push(stream)]
  assert.deepEqual([payload!.kind, payload!.payload.toString()], [1, 'abc'])
  assert.deepEqual([control!.kind, JSON.parse(control!.payload.toString())], [0, { a: 1 }])
})

test('a frame that is too long is refused before its payload arrives', () => {
  const reader = new FrameReader(10)
  assert.throws(() => [...reader.push(encodeFrame(1, Buffer.alloc(11)).subarray(0, 5))], /11 bytes/)
})
