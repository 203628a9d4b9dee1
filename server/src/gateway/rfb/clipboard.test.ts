import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deflateSync } from 'node:zlib'
import { clipboardFlag, messages, rfb, s32 } from '../../../test/rfb-messages.ts'
import { startViewing } from '../../../test/rfb-viewing.ts'

const { text, caps, request, peek, notify, provide } = clipboardFlag
const beyondLatin1 = 'Grüße – 漢字 – 👩‍💻\r\nsecond\nthird\rfourth'
const withLinefeeds = 'Grüße – 漢字 – 👩‍💻\nsecond\nthird\nfourth'

test('text that was copied is offered, and given to a viewer that asks', async () => {
  const { client, viewer } = await startViewing()
  assert.deepEqual(client.clipboardFlags, [caps | request | peek | notify | provide | text])
  viewer.sendCopiedText(beyondLatin1)
  await client.until(({ copied }) => copied.length > 0)
  assert.deepEqual(client.clipboardFlags.slice(1), [notify | text, provide | text])
  assert.deepEqual(client.copied, [withLinefeeds.replaceAll('\n', '\r\n')])
})

test('a viewer without the extended form is sent what Latin-1 has of it', async () => {
  const { client, viewer } = await startViewing({ encodings: [rfb.tight] })
  viewer.sendCopiedText(beyondLatin1)
  await client.settled()
  // Three code points, two of them joined, make the woman at her computer.
  assert.deepEqual(client.copied, ['Grüße ? ?? ? ???\nsecond\nthird\nfourth'])
})

test('a viewer that lists the extended form no more is sent the plain one', async () => {
  const { client, viewer } = await startViewing()
  client.setEncodings([rfb.tight])
  viewer.sendCopiedText('plain')
  await client.settled()
  assert.deepEqual(client.copied, ['plain'])
})

test('text comes in both forms', async () => {
  const extended = await startViewing()
  extended.client.copy(beyondLatin1)
  await extended.client.settled()
  assert.deepEqual(extended.inputs, [{ type: 'clipboard', text: withLinefeeds }])

  const plain = await startViewing({ encodings: [] })
  plain.client.copy('Grüße\r\nsecond')
  assert.deepEqual(plain.inputs, [{ type: 'clipboard', text: 'Grüße\nsecond' }])
})

test('a viewer that lists the extended form may still send the plain one', async () => {
  const { viewer, inputs } = await startViewing()
  viewer.receive(messages.latin1('café'))
  assert.deepEqual(inputs, [{ type: 'clipboard', text: 'café' }])
})

test('of a viewer that tells what it takes, only that is used', async () => {
  const { client, viewer } = await startViewing()
  const told = client.clipboardFlags
  const before = told.length
  // Its own caps have gone out by now; these replace them.
  viewer.receive(messages.clipboard(caps | notify | request | provide))
  viewer.sendCopiedText('no format in common')
  await client.settled()
  assert.equal(told.length, before)

  viewer.receive(messages.clipboard(caps | provide | text, s32(4)))
  viewer.sendCopiedText('five!')
  await client.settled()
  assert.equal(told.length, before, 'more than it takes unasked')
  viewer.sendCopiedText('four')
  await client.settled()
  assert.deepEqual(client.copied, ['four'])

  viewer.receive(messages.clipboard(notify | text))
  await client.settled()
  assert.equal(told.length, before + 1, 'it cannot be asked')
})

test('a viewer that looks is told whether there is text, and given it as often as it asks', async () => {
  const { client, viewer } = await startViewing()
  viewer.receive(messages.clipboard(peek))
  viewer.receive(messages.clipboard(request | text))
  await client.settled()
  assert.equal(client.clipboardFlags.at(-1), notify)
  assert.deepEqual(client.copied, [])

  viewer.sendCopiedText('here')
  viewer.receive(messages.clipboard(peek))
  viewer.receive(messages.clipboard(request | text))
  viewer.receive(messages.clipboard(request | text))
  await client.settled()
  assert.ok(client.clipboardFlags.includes(notify | text))
  assert.deepEqual(new Set(client.copied), new Set(['here']))
})

test('other formats are neither offered nor asked for', async () => {
  const { client, viewer, inputs } = await startViewing()
  const rtf = 2
  const before = client.clipboardFlags.length
  viewer.sendCopiedText('text')
  viewer.receive(messages.clipboard(notify | rtf))
  viewer.receive(messages.clipboard(request | rtf))
  viewer.receive(messages.clipboard(provide | rtf, deflateSync(Buffer.alloc(8))))
  await client.settled()
  assert.deepEqual(client.clipboardFlags.slice(before, before + 1), [notify | text])
  assert.ok(client.copied.every((copied) => copied === 'text'))
  assert.deepEqual(inputs, [])
})

test('as much text as is taken, and not more', async () => {
  const most = 256 * 1024
  const { viewer, inputs } = await startViewing()
  viewer.receive(messages.provide('a'.repeat(most)))
  viewer.receive(messages.latin1('a'.repeat(most)))
  assert.deepEqual(
    inputs.map((event) => event.type === 'clipboard' && event.text.length),
    [most, most],
  )
  for (const tooLarge of [
    messages.provide('a'.repeat(most + 1)),
    messages.latin1('a'.repeat(most + 1)),
    // Of a bomb no more is inflated than is taken.
    messages.clipboard(provide | text, deflateSync(Buffer.alloc(20 * 1024 * 1024))),
  ]) {
    const other = await startViewing()
    assert.throws(() => other.viewer.receive(tooLarge), { name: 'RfbError', isTooLarge: true })
    assert.deepEqual(other.inputs, [])
  }
})

test('text that is not ended, not whole or not UTF-8', async () => {
  const { viewer, inputs } = await startViewing()
  const give = (size: number, bytes: Buffer) =>
    viewer.receive(
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
