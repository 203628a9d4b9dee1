import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { goodPassword } from '../../server/test/browser.ts'
import { startFakeStripe } from '../../server/test/fake-payments/stripe.ts'
import { startComputer } from './computer.ts'

const fake = await startFakeStripe({ after })
const { runOutside, server } = await startComputer({ after }, { env: fake.env })
const email = 'ada@example.com'
await server.signUp({ email })
const url = ['--url', server.baseUrl]
const login = await runOutside(['login', ...url, '--email', email], { stdin: `${goodPassword}\n` })
assert.equal(login.code, 0, login.stderr)

test('a person gets the page on which a plan is paid for, and then the portal', async () => {
  const none = await runOutside(['billing', 'portal'])
  assert.equal(none.code, 6)
  assert.match(none.stderr, /choose a plan first/)
  const free = await runOutside(['billing', 'checkout', 'free'])
  assert.equal(free.code, 2)
  assert.match(free.stderr, /costs nothing/)
  const { code, stdout, stderr } = await runOutside(['billing', 'checkout', 'pro'])
  assert.deepEqual([code, stderr], [0, ''])
  assert.ok(stdout.startsWith(`${fake.url}/pay/`))
  assert.match(stdout, /^\S+\n$/)
  const portal = await runOutside(['billing', 'portal', '--json'])
  assert.ok(JSON.parse(portal.stdout).url.startsWith(`${fake.url}/portal/`))
  assert.match((await runOutside(['billing'])).stdout, /\nTotal: /)
})
