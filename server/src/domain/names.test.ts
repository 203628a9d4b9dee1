import { MachineName } from '@computer/contract'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generateMachineName } from './names.ts'

test('a generated name is a machine name of two words and a number', () => {
  const names = new Set(Array.from({ length: 1000 }, generateMachineName))
  for (const name of names) {
    assert.match(name, /^[a-z]{3,8}-[a-z]{3,8}-[1-9][0-9]$/)
    assert.equal(MachineName.parse(name), name)
  }
  assert.ok(names.size > 950)
})
