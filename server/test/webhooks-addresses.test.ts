import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAddressRules } from '../src/domain/webhooks/addresses.ts'
import { createResolver } from '../src/domain/webhooks/lookup.ts'
import { createMessageSender } from '../src/domain/webhooks/send.ts'
import { startDnsServer } from './dns-server.ts'
import type { Lifetime } from './harness.ts'
import { startReceiver } from './webhook-receiver.ts'
import { startWebhookServer } from './webhook-stage.ts'

const rules = createAddressRules([])

test('nothing but the addresses of the Internet is allowed, in any spelling', () => {
  for (const address of [
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '169.254.169.254',
    '172.31.255.255',
    '192.0.0.8',
    '192.168.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::10.0.0.1',
    '::ffff:10.0.0.1',
    '::ffff:a00:1',
    '::ffff:0:10.0.0.1',
    '64:ff9b::10.0.0.1',
    '64:ff9b:1::1',
    '100::1',
    '2001:0:1::1',
    '2001:db8::1',
    '2002:a00:1::1',
    'fc00::1',
    'fd12:3456::1',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
    '4000::1',
    'receiver.example',
    '',
  ])
    assert.equal(rules.isAllowed(address, 'https:'), false, address)
  for (const address of ['8.8.8.8', '100.63.255.255', '172.32.0.1', '2606:4700::1111'])
    assert.equal(rules.isAllowed(address, 'https:'), true, address)
  assert.equal(rules.isAllowed('8.8.8.8', 'http:'), false, 'never in the clear')
})

test('an operator can list networks, and these alone without https', () => {
  const listed = createAddressRules(['10.1.0.0/16', 'fd00::1'])
  for (const address of ['10.1.2.3', '::ffff:10.1.2.3', 'fd00::1'])
    assert.equal(listed.isAllowed(address, 'http:'), true, address)
  assert.equal(listed.isAllowed('10.2.0.1', 'https:'), false)
  assert.equal(listed.isAllowed('8.8.8.8', 'http:'), false)
  assert.match(listed.refusalOf(new URL('http://8.8.8.8/'))!, /https/)
  assert.equal(listed.refusalOf(new URL('http://receiver.example/')), undefined, 'until looked up')
})

test('the API refuses addresses that it need not look up', async (t) => {
  const { call } = await startWebhookServer(t, { worker: false })
  for (const url of [
    'https://10.0.0.1/',
    'https://[::1]/',
    'https://[::ffff:10.0.0.1]/',
    'https://169.254.169.254/latest',
    'https://0x7f.1.1.1.',
    'https://017700000002/',
    'http://8.8.8.8/',
    'ftp://example.com/',
    'nonsense',
  ]) {
    const { status, body } = await call('POST', '/v1/webhooks', { url })
    assert.equal(status, 400, url)
    assert.equal(body.error.details[0].field, 'url')
  }
})

test('a name that has another address at the connection is refused then', async (t) => {
  const { received, url } = await startReceiver(t)
  const { server, asked } = await startDnsServer(t, (_, before) =>
    before === 0 ? '93.184.216.34' : '127.0.0.1',
  )
  const resolver = createResolver([server])
  // Whatever a check before the connection would have seen.
  const [before] = await resolver.resolve4('rebinding.example')
  assert.equal(rules.isAllowed(before!, 'https:'), true)
  const sender = useSender(t, { rules, resolver })
  for (const port of [new URL(url).port, '443']) {
    const attempt = await sender.send(new URL(`https://rebinding.example:${port}/`), {}, '{}')
    assert.deepEqual(attempt, { error: 'rebinding.example leads into a private network' })
  }
  assert.equal(asked.get('rebinding.example'), 3)
  assert.equal(received.length, 0)
})

test('a kept connection goes to the address that was checked, and a new one is checked again', async (t) => {
  const { received, url } = await startReceiver(t)
  const { port } = new URL(url)
  let address = '127.0.0.1'
  const { server, asked } = await startDnsServer(t, () => address)
  const listed = createAddressRules(['127.0.0.1'])
  const sender = useSender(t, { rules: listed, resolver: createResolver([server]) })
  const post = (name: string) => sender.send(new URL(`http://${name}:${port}/`), {}, '{}')
  for (let count = 0; count < 3; count++)
    assert.deepEqual(await post('kept.example'), { status: 200 })
  assert.equal(asked.get('kept.example'), 1)
  address = '127.0.0.2'
  assert.deepEqual(await post('other.example'), {
    error: 'other.example leads into a network that needs https://',
  })
  assert.equal(received.length, 3)
})

test('a name whose server is silent keeps no other name waiting', async (t) => {
  const { url } = await startReceiver(t)
  const { port } = new URL(url)
  const { server } = await startDnsServer(t, (name) =>
    name.startsWith('silent') ? null : '127.0.0.1',
  )
  const listed = createAddressRules(['127.0.0.1'])
  const sender = useSender(t, { rules: listed, resolver: createResolver([server]) })
  const post = (name: string) => sender.send(new URL(`http://${name}:${port}/`), {}, '{}')
  let areSilentOver = false
  const silent = Promise.all(
    Array.from({ length: 64 }, (_, index) => post(`silent${index}.example`)),
  ).finally(() => (areSilentOver = true))
  assert.deepEqual(await post('good.example'), { status: 200 })
  assert.equal(areSilentOver, false)
  for (const attempt of await silent) assert.ok('error' in attempt)
})

function useSender(
  t: Lifetime,
  options: Omit<Parameters<typeof createMessageSender>[0], 'answerMs'>,
) {
  const sender = createMessageSender({ ...options, answerMs: 1_000 })
  t.after(() => sender[Symbol.dispose]())
  return sender
}
