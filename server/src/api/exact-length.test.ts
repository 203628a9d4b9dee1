import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { exactLength } from './exact-length.ts'

const chunks = () => Readable.from(['012', '345', '678'].map((chunk) => Buffer.from(chunk)))

test('a stream of the promised length passes unchanged', async () => {
  assert.equal(await text(exactLength(chunks(), 9)), '012345678')
  assert.equal(await text(exactLength(Readable.from([]), 0)), '')
})

test('bytes beyond the promised length are dropped', async () => {
  for (const length of [0, 1, 3, 4, 8]) {
    assert.equal(await text(exactLength(chunks(), length)), '012345678'.slice(0, length))
  }
})

test('a stream that ends early or fails makes the body fail', async () => {
  await assert.rejects(text(exactLength(chunks(), 10)), /sent less/)
  const source = chunks()
  const body = exactLength(source, 9)
  source.destroy(new Error('gone'))
  await assert.rejects(text(body), /gone/)
})

test('destroying the body destroys its source', async () => {
  const source = chunks()
  const body = exactLength(source, 9)
  body.destroy()
  await new Promise((resolve) => source.once('close', resolve))
  assert.ok(source.destroyed)
})
