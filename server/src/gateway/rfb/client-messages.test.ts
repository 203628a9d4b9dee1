import fc from 'fast-check'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatOfNovnc, formatOfServer } from '../../../test/rfb-format.ts'
import { clipboardFlag, messages, rfb, s32, u16 } from '../../../test/rfb-messages.ts'
import { ByteQueue } from './byte-queue.ts'
import { maxTextBytes } from './client-messages.ts'
import { RfbError } from './error.ts'
import { RfbSession } from './session.ts'

const { text, caps, request, notify } = clipboardFlag
const handshake = Buffer.concat([Buffer.from('RFB 003.008\n'), Buffer.of(1, 1)])
const whole = { x: 0, y: 0, width: 640, height: 480 }
const conversation = Buffer.concat([
  handshake,
  messages.setFormat(formatOfNovnc),
  messages.setEncodings(Object.values(rfb)),
  messages.requestUpdate(false, whole),
  messages.clipboard(caps | request | text, s32(0)),
  messages.pointer(639, 479, 1),
  messages.key(0x1f4a9, true),
  messages.clipboard(notify | text),
  messages.provide('text – 👩‍💻\nof two lines'),
  messages.latin1('café'),
  messages.setDesktopSize({ width: 1280, height: 800 }),
  messages.requestUpdate(true, { x: 1, y: 2, width: 3, height: 4 }),
  messages.setEncodings([]),
])

test('any cut of the byte stream says the same', () => {
  const expected = hear([conversation])
  assert.deepEqual(
    expected.events.map(([name]) => name),
    ['refresh', 'wanted', 'input', 'input', 'input', 'input', 'input', 'wanted'],
  )
  for (let cut = 0; cut <= conversation.length; cut++) {
    const pieces = [conversation.subarray(0, cut), conversation.subarray(cut)]
    assert.deepEqual(hear(pieces), expected, `cut after ${cut} bytes`)
  }
  assert.deepEqual(hear([...conversation].map((byte) => Buffer.of(byte))), expected)
})

test('bytes come out of the queue as they went in', () => {
  const steps = fc.array(fc.oneof(fc.uint8Array({ maxLength: 40 }), fc.nat({ max: 60 })))
  const property = fc.property(steps, (taken) => {
    const queue = new ByteQueue()
    let model = Buffer.alloc(0)
    for (const step of taken) {
      if (typeof step === 'number') {
        const expected = step <= model.length ? model.subarray(0, step) : undefined
        assert.deepEqual(queue.peek(step), expected)
        assert.deepEqual(queue.take(step), expected)
        if (expected) model = model.subarray(step)
      } else {
        queue.push(Buffer.from(step))
        model = Buffer.concat([model, step])
      }
      assert.equal(queue.length, model.length)
    }
  })
  fc.assert(property)
})

test('what comes byte by byte waits in little more than its own size', () => {
  const queue = new ByteQueue()
  for (let count = 0; count < maxTextBytes; count++) queue.push(Buffer.of(count & 0xff))
  const held = queue.peek(maxTextBytes)!.buffer.byteLength
  assert.ok(held <= 2 * maxTextBytes, `${held} bytes`)
})

const known = fc.constantFrom(
  messages.setFormat(formatOfServer),
  messages.setEncodings([rfb.extendedClipboard, rfb.extendedDesktopSize]),
  messages.requestUpdate(false, whole),
  messages.key(0xff0d, true),
  messages.pointer(1, 2, 3),
  messages.latin1('text'),
  messages.provide('text'),
  messages.clipboard(caps | text, s32(10)),
  messages.setDesktopSize({ width: 640, height: 480 }),
)
/** A message with one byte changed. */
const nearlyKnown = fc.tuple(known, fc.nat(), fc.nat({ max: 255 })).map(([message, at, byte]) => {
  const changed = Buffer.from(message)
  changed[at % changed.length] = byte
  return changed
})
const anything = fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes))

test('whatever comes is taken or refused', () => {
  let refused = 0
  const property = fc.property(
    fc.boolean(),
    fc.array(fc.oneof(known, nearlyKnown, nearlyKnown, anything), { maxLength: 20 }),
    (isConnected, pieces) => {
      try {
        hear([...(isConnected ? [handshake] : []), ...pieces])
      } catch (error) {
        assert.ok(error instanceof RfbError, `${error}`)
        assert.ok(error.message.length < 200)
        refused++
      }
    },
  )
  fc.assert(property, { numRuns: 2000 })
  assert.ok(refused > 500, `${refused} were refused`)
})

const offered = messages.setEncodings(Object.values(rfb))
const cutText = (length: number) => Buffer.concat([Buffer.of(6, 0, 0, 0), s32(length)])
const malformed: Record<string, Buffer> = {
  'a message of type 1': Buffer.of(1),
  // EnableContinuousUpdates, ClientFence, xvp and QEMU's keys were not offered.
  'a message of type 150': Buffer.of(150),
  'a message of type 248': Buffer.of(248),
  'a message of type 250': Buffer.of(250),
  'a message of type 255': Buffer.of(255),
  '1025 encodings': Buffer.concat([Buffer.of(2, 0), u16(1025)]),
  '262145 bytes of text': cutText(256 * 1024 + 1),
  '4294967295 bytes of text': cutText(-1),
  '263169 bytes of text': Buffer.concat([offered, cutText(-263_169)]),
  '2147483648 bytes of text': Buffer.concat([offered, cutText(-0x8000_0000)]),
  'a clipboard message of 3 bytes': Buffer.concat([offered, cutText(-3), Buffer.alloc(3)]),
  'a clipboard message with flags 0': Buffer.concat([offered, messages.clipboard(0)]),
  'a clipboard message with flags a000001': Buffer.concat([
    offered,
    messages.clipboard(request | notify | text),
  ]),
  'a clipboard message with flags 80000001': Buffer.concat([
    offered,
    messages.clipboard((1 << 31) | text),
  ]),
  'a clipboard message with more than its flags': Buffer.concat([
    offered,
    messages.clipboard(notify | text, s32(0)),
  ]),
  'clipboard caps without their sizes': Buffer.concat([offered, messages.clipboard(caps | text)]),
  'clipboard text that is not zlib': Buffer.concat([
    offered,
    messages.clipboard(clipboardFlag.provide | text, Buffer.from('text')),
  ]),
  'clipboard text that ends too early': Buffer.concat([
    offered,
    messages.clipboard(clipboardFlag.provide | text),
  ]),
  'a SetDesktopSize that was not offered': messages.setDesktopSize(whole),
}
for (const [reason, bytes] of Object.entries(malformed)) {
  test(`refused before it waits for more: ${reason}`, () => {
    assert.throws(() => hear([handshake, bytes]), { name: 'RfbError', message: reason })
  })
}

const strangers: Record<string, Buffer> = {
  'a protocol version that is not RFB 3': Buffer.from('GET / HTTP/1'),
  'security type 2, which was not offered': Buffer.concat([
    Buffer.from('RFB 003.008\n'),
    Buffer.of(2),
  ]),
}
for (const [reason, bytes] of Object.entries(strangers)) {
  test(`refused: ${reason}`, () => {
    assert.throws(() => hear([bytes]), { name: 'RfbError', message: reason })
  })
}

/** What a viewer that sends these pieces makes happen, and what it is answered. */
function hear(pieces: readonly Buffer[]) {
  const events: [name: string, value?: unknown][] = []
  const sent: Buffer[] = []
  const viewer = new RfbSession({
    name: 'a machine',
    geometry: { width: 640, height: 480 },
    send: (bytes) => sent.push(bytes),
    on: {
      input: (event) => events.push(['input', event]) > 0,
      refresh: (area) => events.push(['refresh', area]),
      wanted: () => events.push(['wanted']),
    },
  })
  for (const piece of pieces) viewer.receive(piece)
  return { events, sent: Buffer.concat(sent).toString('hex') }
}
