import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createSecret, isSecret, secretPrefix } from './api-key-secret.ts'

test('a secret is recognized, and its prefix reveals only six characters of it', () => {
  const secrets = Array.from({ length: 200 }, createSecret)
  assert.equal(new Set(secrets).size, 200)
  for (const secret of secrets) {
    assert.match(secret, /^computer_[0-9A-Za-z]{38}$/)
    assert.ok(isSecret(secret))
    assert.equal(secretPrefix(secret), secret.slice(0, 15))
  }
})

test('a secret with one character changed, removed or added is rejected', () => {
  const secret = createSecret()
  const index = fc.integer({ min: 0, max: secret.length - 1 })
  const property = fc.property(index, fc.string({ minLength: 0, maxLength: 2 }), (at, other) => {
    const changed = secret.slice(0, at) + other + secret.slice(at + 1)
    assert.equal(isSecret(changed), changed === secret)
  })
  fc.assert(property, { numRuns: 1000 })
})

test('arbitrary text is rejected without an error', () => {
  fc.assert(fc.property(fc.string(), (text) => assert.ok(!isSecret(`computer_${text}`))))
})
