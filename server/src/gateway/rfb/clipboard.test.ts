import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deflateSync } from 'node:zlib'
import { clipboardFlag, messages, rfb, s32 } from '../../../test/rfb-messages.ts'
import { startRfbSession } from '../../../test/rfb-session.ts'

const { text, caps, request, peek, notify, provide } = clipboardFlag
const beyondLatin1 = 'Grüße – 漢字 – 👩‍💻\r\nsecond\nthird\rfourth'
const withLinefeeds = 'Grüße – 漢字 – 👩‍💻\nsecond\nthird\nfourth'

test('copied text is announced, and provided on request', async () => {
  const { client, session } = await startRfbSession()
  assert.deepEqual(client.clipboardFlags, [caps | request | peek | notify | provide | text])
  session.sendCopiedText(beyondLatin1)
  await client.until(({ copied }) => copied.length > 0)
  assert.deepEqual(client.clipboardFlags.slice(1), [notify | text, provide | text])
  assert.deepEqual(client.copied, [withLinefeeds.replaceAll('\n', '\r\n')])
})

test('a client without the extended form gets the text in Latin-1', async () => {
  const { client, session } = await startRfbSession({ encodings: [rfb.tight] })
  session.sendCopiedText(beyondLatin1)
  await client.settled()
  // Three code points, two of them joined, make the woman at her computer.
  assert.deepEqual(client.copied, ['Grüße ? ?? ? ???\nsecond\nthird\nfourth'])
})

test('a client that stops listing the extended form gets the plain one', async () => {
  const { client, session } = await startRfbSession()
  client.setEncodings([rfb.tight])
  session.sendCopiedText('plain')
  await client.settled()
  assert.deepEqual(client.copied, ['plain'])
})

test('text is received in both forms', async () => {
  const extended = await startRfbSession()
  extended.client.copy(beyondLatin1)
  await extended.client.settled()
  assert.deepEqual(extended.inputs, [{ type: 'clipboard', text: withLinefeeds }])

  const plain = await startRfbSession({ encodings: [] })
  plain.client.copy('Grüße\r\nsecond')
  assert.deepEqual(plain.inputs, [{ type: 'clipboard', text: 'Grüße\nsecond' }])
})

test('a client that lists the extended form may still send the plain one', async () => {
  const { session, inputs } = await startRfbSession()
  session.receive(messages.latin1('café'))
  assert.deepEqual(inputs, [{ type: 'clipboard', text: 'café' }])
})

test('the caps of the client are respected', async () => {
  const { client, session } = await startRfbSession()
  const received = client.clipboardFlags
  const before = received.length
  // The client sent its default caps already; these replace them.
  session.receive(messages.clipboard(caps | notify | request | provide))
  session.sendCopiedText('no format in common')
  await client.settled()
  assert.equal(received.length, before)

  session.receive(messages.clipboard(caps | provide | text, s32(4)))
  session.sendCopiedText('five!')
  await client.settled()
  assert.equal(received.length, before, 'more than it accepts without a request')
  session.sendCopiedText('four')
  await client.settled()
  assert.deepEqual(client.copied, ['four'])

  session.receive(messages.clipboard(notify | text))
  await client.settled()
  assert.equal(received.length, before + 1, 'it accepts no requests')
})

test('peek reports whether there is text, and requests may repeat', async () => {
  const { client, session } = await startRfbSession()
  session.receive(messages.clipboard(peek))
  session.receive(messages.clipboard(request | text))
  await client.settled()
  assert.equal(client.clipboardFlags.at(-1), notify)
  assert.deepEqual(client.copied, [])

  session.sendCopiedText('here')
  session.receive(messages.clipboard(peek))
  session.receive(messages.clipboard(request | text))
  session.receive(messages.clipboard(request | text))
  await client.settled()
  assert.ok(client.clipboardFlags.includes(notify | text))
  assert.deepEqual(new Set(client.copied), new Set(['here']))
})

test('other formats are neither announced nor requested', async () => {
  const { client, session, inputs } = await startRfbSession()
  const rtf = 2
  const before = client.clipboardFlags.length
  session.sendCopiedText('text')
  session.receive(messages.clipboard(notify | rtf))
  session.receive(messages.clipboard(request | rtf))
  session.receive(messages.clipboard(provide | rtf, deflateSync(Buffer.alloc(8))))
  await client.settled()
  assert.deepEqual(client.clipboardFlags.slice(before, before + 1), [notify | text])
  assert.ok(client.copied.every((copied) => copied === 'text'))
  assert.deepEqual(inputs, [])
})

test('text up to the limit is accepted, more is refused', async () => {
  const most = 256 * 1024
  const { session, inputs } = await startRfbSession()
  session.receive(messages.provide('a'.repeat(most)))
  session.receive(messages.latin1('a'.repeat(most)))
  assert.deepEqual(
    inputs.map((event) => event.type === 'clipboard' && event.text.length),
    [most, most],
  )
  for (const tooLarge of [
    messages.provide('a'.repeat(most + 1)),
    messages.latin1('a'.repeat(most + 1)),
    // A zip bomb is inflated only up to the limit.
    messages.clipboard(provide | text, deflateSync(Buffer.alloc(20 * 1024 * 1024))),
  ]) {
    const other = await startRfbSession()
    assert.throws(() => other.session.receive(tooLarge), { name: 'RfbError', isTooLarge: true })
    assert.deepEqual(other.inputs, [])
  }
})

test('unterminated, truncated and invalid UTF-8 text', async () => {
  const { session, inputs } = await startRfbSession()
  const give = (size: number, bytes: Buffer) =>
    session.receive(
      messages.clipboard(provide | text, deflateSync(Buffer.concat([s32(size), bytes]))),
    )
  give(2, Buffer.from('ab'))
  give(2, Buffer.of(0x61, 0xff))
  give(0, Buffer.alloc(0))
  assert.deepEqual(
    inputs.map((event) => event.type === 'clipboard' && event.text),
    ['ab', 'a\ufffd', ''],
  )
  assert.throws(() => give(3, Buffer.from('ab')), { name: 'RfbError' })
})
