import { MachineId, SessionId } from '@computer/contract'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { newId, newUlid } from './ids.ts'

test('ids increase even if the clock goes back', () => {
  let last = newUlid()
  const clock = fc.array(fc.integer({ min: 0, max: 2 ** 48 - 1 }), { minLength: 1, maxLength: 50 })
  const property = fc.property(clock, (times) => {
    for (const nowMs of times) {
      const next = newUlid(nowMs)
      assert.match(next, /^[0-9a-hjkmnp-tv-z]{26}$/)
      assert.ok(next > last, `${next} after ${last}`)
      last = next
    }
  })
  fc.assert(property)
})

test('ids made in one millisecond increase', () => {
  const ids = Array.from({ length: 10_000 }, () => newUlid())
  assert.deepEqual(ids, ids.toSorted())
  assert.equal(new Set(ids).size, ids.length)
})

test('ids match the patterns of the contract', () => {
  assert.ok(MachineId.safeParse(newId('mch')).success)
  assert.ok(SessionId.safeParse(newId('ses')).success)
  assert.ok(!SessionId.safeParse(newId('mch')).success)
})
