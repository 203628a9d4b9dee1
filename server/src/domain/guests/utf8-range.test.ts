import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeUtf8, wholeCharacters } from './utf8-range.ts'

const text = fc.string({ unit: 'grapheme', maxLength: 60 })

test('the ranges of a file, read one after the other, are the file', () => {
  const property = fc.property(text, fc.integer({ min: 4, max: 20 }), (content, length) => {
    const file = Buffer.from(content)
    let read = ''
    for (let offset = 0; offset < file.length;) {
      const range = wholeCharacters(file.subarray(offset, offset + length), file.length, offset)
      assert.ok(range.length > Math.min(length, file.length - offset) - 4)
      read += decodeUtf8(range)
      offset += range.length
    }
    assert.equal(read, content)
  })
  fc.assert(property)
})

test('bytes that are not UTF-8 are refused wherever they are', () => {
  const broken = fc.constantFrom([0xff], [0x80], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xc0, 0xaf])
  const property = fc.property(text, broken, text, (before, bytes, behind) => {
    const file = Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(behind)])
    const range = wholeCharacters(file, file.length, 0)
    assert.throws(() => decodeUtf8(range), { code: 'invalid_request' })
  })
  fc.assert(property)
})

test('a range that holds no whole character is refused', () => {
  const file = Buffer.from('🙂 and more')
  for (const length of [1, 2, 3]) {
    const cut = () => wholeCharacters(file.subarray(0, length), file.length, 0)
    assert.throws(cut, { code: 'invalid_request' })
  }
  assert.equal(wholeCharacters(file.subarray(0, 4), file.length, 0).length, 4)
  assert.equal(wholeCharacters(file.subarray(0, 0), file.length, 0).length, 0)
})

test('a file that ends inside a character is not UTF-8', () => {
  const file = Buffer.from('é🙂').subarray(0, 5)
  const range = wholeCharacters(file.subarray(2), file.length, 2)
  assert.throws(() => decodeUtf8(range), { code: 'invalid_request' })
})
