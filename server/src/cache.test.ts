import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TtlCache } from './cache.ts'

test('concurrent calls share one load, and later calls its value', async () => {
  const { loads, get } = setUp()
  const both = [get(), get()]
  loads[0]!.resolve('value')
  assert.deepEqual(await Promise.all(both), ['value', 'value'])
  assert.equal(await get(), 'value')
  assert.equal(loads.length, 1)
})

test('each key has an entry of its own', async () => {
  const { loads, get } = setUp()
  const [one, other] = [get('one'), get('other')]
  loads[1]!.resolve('of the other')
  loads[0]!.resolve('of the one')
  assert.deepEqual([await one, await other], ['of the one', 'of the other'])
})

test('an entry expires 900 ms after its load began, however slow the load is', async () => {
  const { clock, loads, get } = setUp()
  const first = get()
  clock.ms += 899
  loads[0]!.resolve('slow')
  assert.equal(await first, 'slow')
  assert.equal(await get(), 'slow')
  clock.ms += 1
  const second = get()
  assert.equal(loads.length, 2)
  loads[1]!.resolve('new')
  assert.equal(await second, 'new')
})

test('an expired load in progress is not joined, and does not replace the newer one', async () => {
  const { clock, loads, get } = setUp()
  const first = get()
  clock.ms += 900
  const second = get()
  loads[1]!.resolve('new')
  assert.equal(await second, 'new')
  loads[0]!.resolve('old')
  assert.equal(await first, 'old')
  assert.equal(await get(), 'new')
})

test('an invalidated load is not returned: its callers wait for the next one', async () => {
  const { cache, loads, get } = setUp()
  const before = get()
  cache.invalidate()
  const after = get()
  loads[0]!.resolve('outdated')
  loads[1]!.reject(new Error('revoked'))
  await assert.rejects(before, /revoked/)
  await assert.rejects(after, /revoked/)
  assert.equal(loads.length, 2)
})

test('an invalidation drops the values that match and keeps the others', async () => {
  const { cache, loads, get } = setUp()
  const [one, other] = [get('one'), get('other')]
  loads[0]!.resolve('matches')
  loads[1]!.resolve('differs')
  await Promise.all([one, other])
  cache.invalidate((value) => value === 'matches')
  assert.equal(await get('other'), 'differs')
  const again = get('one')
  assert.equal(loads.length, 3)
  loads[2]!.resolve('anew')
  assert.equal(await again, 'anew')
})

test('failures are not cached', async () => {
  const { loads, get } = setUp()
  const failed = get()
  loads[0]!.reject(new Error('unknown'))
  await assert.rejects(failed, /unknown/)
  const next = get()
  loads[1]!.resolve('value')
  assert.equal(await next, 'value')
})

/** A cache whose clock stands still and whose loads end when the test says so. */
function setUp() {
  const clock = { ms: 0 }
  const loads: PromiseWithResolvers<string>[] = []
  const cache = new TtlCache<string>(() => clock.ms)
  const get = (key = 'key') =>
    cache.get(key, () => {
      const load = Promise.withResolvers<string>()
      loads.push(load)
      return load.promise
    })
  return { cache, clock, loads, get }
}
