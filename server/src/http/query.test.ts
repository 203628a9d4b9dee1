import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseQuery } from './query.ts'

test('pairs, nested pairs and repeated names', () => {
  const parsed = parseQuery('a=1&b=&c=x+y%20%C3%A9&m[k]=v&m[weird%20key]=%26&r=1&r=2&r=3')
  assert.deepEqual(toPlain(parsed), {
    a: '1',
    b: '',
    c: 'x y é',
    m: { k: 'v', 'weird key': '&' },
    r: ['1', '2', '3'],
  })
})

test('a name used both plainly and nested keeps the two apart', () => {
  assert.deepEqual(toPlain(parseQuery('m=1&m[a]=2')), { m: '1', 'm[a]': '2' })
  assert.deepEqual(toPlain(parseQuery('m[a]=1&m=2')), { m: [{ a: '1' }, '2'] })
  assert.deepEqual(toPlain(parseQuery('m[a]=1&m[a]=2')), { m: { a: ['1', '2'] } })
  assert.deepEqual(toPlain(parseQuery('m[a][b]=1&[x]=2&m[]=3')), {
    'm[a][b]': '1',
    '[x]': '2',
    'm[]': '3',
  })
})

test('no query pollutes a prototype or throws', () => {
  parseQuery('__proto__[polluted]=1&constructor[prototype]=2&a[__proto__]=3')
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined)
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void parseQuery(text)))
})

test('parses what URLSearchParams writes', () => {
  const name = fc.string({ minLength: 1 }).filter((text) => !/[[\]]/.test(text))
  const property = fc.property(fc.dictionary(name, fc.string()), (values) => {
    const parsed = parseQuery(new URLSearchParams(values).toString())
    assert.deepEqual(Object.entries(parsed), Object.entries(values))
  })
  fc.assert(property)
})

function toPlain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}
