import fc from 'fast-check'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expiredSessionCookies, readSessionCookie, sessionCookies } from './cookies.ts'

const http = { baseUrl: 'http://127.0.0.1:7080' }
const https = { baseUrl: 'https://computer.example.com' }

test('a cookie header contains the session or nothing', () => {
  const cases: [header: string | undefined, expected: string | null][] = [
    [undefined, null],
    ['', null],
    ['computer_session=abc', 'abc'],
    ['a=1; computer_session=abc; b=2', 'abc'],
    ['a=1;computer_session=abc;b=2', 'abc'],
    ['  computer_session  =  abc  ', 'abc'],
    ['computer_session="abc"', 'abc'],
    ['computer_session=abc; computer_session=abc', 'abc'],
    ['computer_session=abc; computer_session="abc"', 'abc'],
    ['computer_session=a=b', 'a=b'],
    ['a="x; computer_session=abc"', 'abc"'],
    // One of the two may be planted, so neither is used.
    ['computer_session=abc; computer_session=def', null],
    ['computer_session=abc; computer_session=', null],
    ['computer_session=', null],
    ['computer_session=""', null],
    ['computer_session', null],
    ['=abc', null],
    ['Computer_Session=abc', null],
    ['xcomputer_session=abc', null],
    ['computer_session2=abc', null],
    ['computer%5fsession=abc', null],
    ['$computer_session=abc', null],
    ['computer_session:abc', null],
    [';;;=;;', null],
  ]
  for (const [header, expected] of cases) {
    assert.equal(readSessionCookie(http, header === undefined ? {} : { cookie: header }), expected)
  }
})

test('the session is found among any other cookies', () => {
  const word = fc.stringMatching(/^[\w!#$%&'*+.^`|~-]{1,12}$/)
  const other = fc
    .tuple(word, fc.stringMatching(/^[ -:<-~]{0,20}$/))
    .filter(([name]) => name !== 'computer_session')
    .map(([name, value]) => `${name}=${value}`)
  const token = fc.stringMatching(/^[\w-]{1,60}$/)
  fc.assert(
    fc.property(fc.array(other), token, fc.array(other), (before, value, after) => {
      const cookie = [...before, `computer_session=${value}`, ...after].join('; ')
      assert.equal(readSessionCookie(http, { cookie }), value)
      assert.equal(readSessionCookie(http, { cookie: [...before, ...after].join('; ') }), null)
    }),
  )
})

test('no header makes it throw', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (cookie) => {
      const value = readSessionCookie(http, { cookie })
      assert.ok(value === null || cookie.includes(value))
    }),
  )
})

test('on https, browsers are authenticated by the cookie that only this host can set', () => {
  const read = (cookie: string, sent: object = {}) => readSessionCookie(https, { cookie, ...sent })
  const browser = { 'sec-fetch-site': 'none' }
  const both = 'computer_session=own; __Host-computer_session=own'
  assert.equal(read(both), 'own')
  assert.equal(read(both, browser), 'own')
  // Planted by a sibling, for a browser that is signed in and one that is not.
  assert.equal(read(`computer_session=planted; ${both}`, browser), 'own')
  for (const site of ['none', 'same-origin', 'same-site', 'cross-site', '']) {
    assert.equal(read('computer_session=planted', { 'sec-fetch-site': site }), null)
  }
  assert.equal(read('__Host-computer_session=a; __Host-computer_session=b', browser), null)
  assert.equal(read('__host-computer_session=planted', browser), null)
  // A program, which has no cookies of other sites.
  assert.equal(read('computer_session=own'), 'own')
  assert.equal(readSessionCookie(http, { cookie: '__Host-computer_session=x' }), null)
})

test('the cookie is hidden from scripts, other hosts and other sites', () => {
  const attributes = 'Path=/; Max-Age=34560000; HttpOnly; SameSite=Lax; Secure'
  assert.deepEqual(sessionCookies(https, 'abc'), [
    `computer_session=abc; ${attributes}`,
    `__Host-computer_session=abc; ${attributes}`,
  ])
  const [plain, ...more] = sessionCookies(http, 'abc')
  assert.deepEqual(more, [])
  assert.doesNotMatch(plain!, /Secure|Domain/)
  for (const cookie of expiredSessionCookies(https)) {
    assert.match(cookie, /^(__Host-)?computer_session=; Path=\/; Max-Age=0; /)
  }
})
