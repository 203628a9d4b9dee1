import assert from 'node:assert/strict'
import { test } from 'node:test'
import { watchArgon2 } from '../../../test/argon2.ts'
import { hashPassword, isOutdated, verifyPassword } from './passwords.ts'

test('each hash is a unique PHC string that matches its password only', async () => {
  const stored = await hashPassword('correct horse')
  assert.match(stored, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
  assert.notEqual(await hashPassword('correct horse'), stored)
  assert.equal(await verifyPassword('correct horse', stored), true)
  for (const wrong of ['correct horsE', 'correct horse ', '', stored]) {
    assert.equal(await verifyPassword(wrong, stored), false)
  }
  assert.equal(isOutdated(stored), false)
})

test('hashes of other implementations and parameters are verified', async () => {
  // argon2-cffi's documented example.
  const stored =
    '$argon2id$v=19$m=65536,t=3,p=4$MIIRqgvgQbgj220jfp0MPA$YfwJSVjtjSU0zzV/P3S9nnQ/USre2wvJMjfCIjrTQbg'
  assert.equal(await verifyPassword('correct horse battery staple', stored), true)
  assert.equal(await verifyPassword('correct horse battery stable', stored), false)
  assert.equal(isOutdated(stored), true)
})

test('composed and decomposed accented letters are the same password', async () => {
  const stored = await hashPassword('mot de passe é')
  assert.equal(await verifyPassword('mot de passe e\u0301', stored), true)
})

test('a malformed hash is an error, not a wrong password', async () => {
  for (const broken of ['', 'secret', '$argon2id$v=19$m=19456,t=2,p=1$$', '$2b$10$abcdefghijkl']) {
    await assert.rejects(verifyPassword('secret', broken), /is malformed/)
  }
})

test('a missing hash matches nothing, with the same work as a hash', async (t) => {
  const stored = await hashPassword('correct horse')
  const watched = watchArgon2(t)
  assert.equal(await verifyPassword('correct horse', stored), true)
  assert.equal(await verifyPassword('correct horse', null), false)
  const [known, unknown, ...more] = watched.work()
  assert.deepEqual(unknown, known)
  assert.equal(more.length, 0)
})

test('two passwords are hashed at a time, and the rest queue', async (t) => {
  const watched = watchArgon2(t)
  const hashes = await Promise.all(Array.from({ length: 7 }, (_, i) => hashPassword(`number ${i}`)))
  assert.equal(new Set(hashes).size, 7)
  assert.equal(watched.work().length, 7)
  assert.equal(watched.mostAtOnce(), 2)
})
