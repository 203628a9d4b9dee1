import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { limitWork } from './work-budget.ts'

const chunk = Buffer.alloc(1024)

test('bytes that cost far more than others are read more slowly, and none are lost', async () => {
  const { stream, received } = startReader(30)
  for (let count = 0; count < 20; count++) stream.write(chunk)
  await new Promise((resolve) => setImmediate(resolve))
  assert.ok(stream.isPaused())
  const early = received()
  assert.ok(early > 0 && early < 20, `${early} chunks`)
  await new Promise((resolve) => stream.once('resume', resolve))
  stream.end()
  await new Promise((resolve) => stream.once('end', resolve))
  assert.equal(received(), 20)
})

test('a long file is never held up', async () => {
  const { stream, received } = startReader(0.004)
  for (let count = 0; count < 1_000; count++) {
    stream.write(chunk)
    await new Promise((resolve) => setImmediate(resolve))
    assert.ok(!stream.isPaused(), `after ${count} chunks`)
  }
  assert.equal(received(), 1_000)
})

/** A reader that takes so many milliseconds for each chunk, by a clock of its own. */
function startReader(chunkMs: number) {
  let nowMs = 0
  let chunks = 0
  const stream = new PassThrough()
  const work = limitWork(stream, () => nowMs)
  stream.on('data', () => {
    nowMs += chunkMs
    chunks += 1
  })
  work.measure()
  stream.resume()
  return { stream, received: () => chunks }
}
