import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Openings } from './openings.ts'

test('more openings than the limit wait for their turn, those of other machines do not', async () => {
  const openings = new Openings({ most: 2, withinMs: 50 })
  for (let count = 0; count < 2; count++) {
    await openings.wait('a')
    openings.count('a')
  }
  let isOpen = false
  const third = openings.wait('a').then(() => (isOpen = true))
  await openings.wait('b')
  await turn()
  assert.equal(isOpen, false)
  await third
})

test('the end refuses those that wait', async () => {
  const openings = new Openings({ most: 1, withinMs: 60_000 })
  openings.count('a')
  const second = openings.wait('a')
  openings.end()
  await assert.rejects(second, { name: 'GuestUnavailable', sent: false })
})
