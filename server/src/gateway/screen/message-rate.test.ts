import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MessageRate } from './message-rate.ts'

test('allows a burst of 400, then 200 a second, and saves up at most 400', () => {
  let nowMs = 5
  const rate = new MessageRate(() => nowMs)
  const countTaken = () => {
    let taken = 0
    while (rate.take()) taken += 1
    return taken
  }
  assert.equal(countTaken(), 400)
  nowMs += 4
  assert.equal(countTaken(), 0)
  nowMs += 1
  assert.equal(countTaken(), 1)
  nowMs += 1000
  assert.equal(countTaken(), 200)
  nowMs += 3_600_000
  assert.equal(countTaken(), 400)
})
