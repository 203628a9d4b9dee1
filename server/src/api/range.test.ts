import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseRange } from './range.ts'

test('one range with a beginning is taken', () => {
  assert.equal(parseRange(undefined), null)
  assert.deepEqual(parseRange('bytes=0-0'), { offset: 0, length: 1 })
  assert.deepEqual(parseRange(' bytes=5-9 '), { offset: 5, length: 5 })
  assert.deepEqual(parseRange('bytes=7-'), { offset: 7 })
})

test('anything else is refused', () => {
  const wrong = ['', 'bytes', 'bytes=', 'bytes=-', 'bytes=-5', 'bytes=5-4', 'bytes=0-1,2-3']
  for (const header of [
    ...wrong,
    'items=0-1',
    'bytes=a-b',
    'bytes=1.5-2',
    `bytes=${'9'.repeat(16)}-`,
  ]) {
    assert.throws(() => parseRange(header), { code: 'invalid_request' }, header)
  }
})
