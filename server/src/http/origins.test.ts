import fc from 'fast-check'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isRecognisedOrigin } from './origins.ts'

const baseUrl = 'https://good.example'
const here = { protocol: 'http', host: '127.0.0.1:7080' }
const dashboardUrl = 'https://dashboard.example'
const fromBase = { baseUrl, dashboardUrl, origins: null }

test('without a list, the base URL and the requested address are recognised', () => {
  const cases: [origin: string, protocol: string, host: string, expected: boolean][] = [
    ['https://good.example', 'http', 'elsewhere', true],
    ['http://127.0.0.1:7080', 'http', '127.0.0.1:7080', true],
    ['http://localhost', 'http', 'localhost:80', true],
    ['http://localhost', 'http', 'LOCALHOST', true],
    ['https://localhost', 'https', 'localhost:443', true],
    ['http://[::1]:7080', 'http', '[::1]:7080', true],
    ['http://192.0.2.1:7080', 'http', '192.0.2.1:7080', true],
    // On the host of the base URL or the dashboard, but another port.
    ['http://good.example:7080', 'http', 'good.example:7080', true],
    ['https://dashboard.example', 'https', 'dashboard.example', true],
    // Any other name may be that of a website.
    ['http://evil.example:7080', 'http', 'evil.example:7080', false],
    ['http://sub.localhost:7080', 'http', 'sub.localhost:7080', false],
    ['http://127.0.0.1.evil.example', 'http', '127.0.0.1.evil.example', false],
    ['http://evil.good.example', 'http', 'evil.good.example', false],
    ['http://localhost.', 'http', 'localhost.', false],
    ['http://intranet', 'http', 'intranet', false],
    ['http://localhost', 'https', 'localhost', false],
    ['https://localhost', 'http', 'localhost', false],
    ['http://localhost:7081', 'http', 'localhost:7080', false],
    ['http://localhost', 'http', 'localhost:7080', false],
    ['http://localhost', 'http', 'localhost.', false],
    // Invalid Host headers, and those with user information, are not recognised.
    ['null', 'data', 'localhost', false],
    ['null', 'http', '', false],
    ['null', 'http', ':::', false],
    ['http://evil.example', 'http', 'good.example@evil.example', false],
    ['http://evil.example', 'http', 'evil.example/x', false],
    ['http://evil.example', 'http', 'evil.example?', false],
    ['http://evil.example', 'http', 'evil.example, good.example', false],
  ]
  for (const [origin, protocol, host, expected] of cases) {
    const seen = isRecognisedOrigin(fromBase, origin, { protocol, host })
    assert.equal(seen, expected, `${origin} at ${protocol} ${host}`)
  }
})

test('lookalikes of our origin are foreign', () => {
  for (const origin of lookalikes) {
    assert.equal(isRecognisedOrigin(fromBase, origin, here), false, origin)
    const listed = { baseUrl: 'http://elsewhere', dashboardUrl, origins: [baseUrl] }
    assert.equal(isRecognisedOrigin(listed, origin, here), false, origin)
  }
})

test('with a list, only its origins are recognised', () => {
  const config = { ...fromBase, origins: ['https://a.example', 'http://b.example:3000'] }
  const isRecognised = (origin: string) => isRecognisedOrigin(config, origin, here)
  assert.ok(isRecognised('https://a.example'))
  assert.ok(isRecognised('http://b.example:3000'))
  assert.ok(!isRecognised(baseUrl))
  assert.ok(!isRecognised('http://127.0.0.1:7080'))
  assert.ok(!isRecognised('https://a.example, http://b.example:3000'))
})

test('no generated origin passes unless it is listed', () => {
  const pieces = [
    'https',
    '://',
    'good',
    '.example',
    ':443',
    '@',
    '.',
    '/',
    ' ',
    '\t',
    'evil',
    '%2e',
  ]
  const text = fc.array(fc.constantFrom(...pieces), { maxLength: 10 }).map((all) => all.join(''))
  fc.assert(
    fc.property(text, (origin) => {
      assert.equal(isRecognisedOrigin(fromBase, origin, here), origin === baseUrl)
    }),
  )
  fc.assert(
    fc.property(fc.string(), fc.string(), (protocol, host) => {
      assert.equal(isRecognisedOrigin(fromBase, 'null', { protocol, host }), false)
    }),
  )
})

const lookalikes = [
  '',
  'null',
  'undefined',
  '*',
  'good.example',
  'http://good.example',
  'HTTPS://good.example',
  'https://GOOD.example',
  'https://Good.Example',
  'https://good.example.',
  'https://good.example/',
  'https://good.example:443',
  'https://good.example:8443',
  'https://good.example.evil.example',
  'https://evil-good.example',
  'https://evilgood.example',
  'https://sub.good.example',
  'https://good.example@evil.example',
  'https://user:password@good.example',
  'https://evil.example#good.example',
  'https://evil.example?https://good.example',
  'https://evil.example\\@good.example',
  'https://good.example https://evil.example',
  'https://evil.example, https://good.example',
  ' https://good.example',
  'https://good.example\t',
  'https://good.exаmple',
  'https://xn--good-example',
  'https:/good.example',
  'https:good.example',
  'wss://good.example',
  'file://',
  'chrome-extension://good.example',
  'http://127.0.0.1',
  'http://127.0.0.1:7081',
  'https://127.0.0.1:7080',
  'http://127.1:7080',
  'http://2130706433:7080',
  'http://localhost:7080',
]
