import fc from 'fast-check'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expiredSessionCookie, readSessionCookie, sessionCookie } from './cookies.ts'

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
    assert.equal(readSessionCookie(header === undefined ? {} : { cookie: header }), expected)
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
      assert.equal(readSessionCookie({ cookie }), value)
      assert.equal(readSessionCookie({ cookie: [...before, ...after].join('; ') }), null)
    }),
  )
})

test('no header makes it throw', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (cookie) => {
      const value = readSessionCookie({ cookie })
      assert.ok(value === null || cookie.includes(value))
    }),
  )
})

test('the cookie is hidden from scripts, other hosts and other sites', () => {
  assert.equal(
    sessionCookie(https, 'abc'),
    'computer_session=abc; Path=/; Max-Age=34560000; HttpOnly; SameSite=Lax; Secure',
  )
  assert.doesNotMatch(sessionCookie(http, 'abc'), /Secure|Domain/)
  assert.match(expiredSessionCookie(https), /^computer_session=; Path=\/; Max-Age=0; /)
})
