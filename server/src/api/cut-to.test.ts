import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { cutTo } from './cut-to.ts'

const pieces = () => Readable.from(['012', '345', '678'].map((piece) => Buffer.from(piece)))

test('a stream of the promised length passes', async () => {
  assert.equal(await text(cutTo(pieces(), 9)), '012345678')
  assert.equal(await text(cutTo(Readable.from([]), 0)), '')
})

test('what is beyond the promise is dropped', async () => {
  for (const length of [0, 1, 3, 4, 8]) {
    assert.equal(await text(cutTo(pieces(), length)), '012345678'.slice(0, length))
  }
})

test('a stream that ends early, or fails, fails', async () => {
  await assert.rejects(text(cutTo(pieces(), 10)), /sent less/)
  const source = pieces()
  const body = cutTo(source, 9)
  source.destroy(new Error('gone'))
  await assert.rejects(text(body), /gone/)
})

test('a reader that leaves ends the source', async () => {
  const source = pieces()
  const body = cutTo(source, 9)
  body.destroy()
  await new Promise((resolve) => source.once('close', resolve))
  assert.ok(source.destroyed)
})
