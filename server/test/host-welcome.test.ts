import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '../src/config.ts'
import { offerFirstSignIn } from '../src/host/first-sign-in.ts'
import { describeServer } from '../src/host/welcome.ts'
import { goodPassword, openBrowser } from './browser.ts'
import { startTestServer } from './harness.ts'

/* The text that a started server prints. */

const operator = { type: 'operator', id: 'operator', name: 'root' } as const
const config = readConfig({
  COMPUTER_DATA: '/nonexistent',
  COMPUTER_BASE_URL: 'https://api.example.com',
  COMPUTER_DASHBOARD_URL: 'https://computer.example.com/',
})

test('it names the dashboard, and no way to sign in once somebody has an account', () => {
  const text = describeServer(config, null)
  assert.match(text, /^Computer is running at https:\/\/api\.example\.com \(API reference: /m)
  assert.match(text, /^ {2}dashboard {6}https:\/\/computer\.example\.com$/m)
  assert.doesNotMatch(text, /Nobody|login-link/)
  assert.match(text, /logs .*\n\nSign in, create a computer/)
})

test('it has the link for a terminal, and for a journal only the command that prints one', () => {
  const link = 'https://computer.example.com/welcome#token=computer_login_link_x'
  const onTerminal = describeServer(config, { link })
  assert.match(
    onTerminal,
    /\n\nNobody has an account yet\. .*10 minutes.*once:\n {2}https:\/\/.*_x\n/,
  )
  assert.match(onTerminal, /computer admin login-link` prints another\.\n\nSign in/)
  const inJournal = describeServer(config, { link: null })
  assert.match(
    inJournal,
    /\n\nNobody has an account yet\. .*:\n {2}\S*computer admin login-link\n\n/,
  )
  assert.doesNotMatch(inJournal, /token/)
})

test('a link is made for a terminal alone, as long as nobody owns the first organization', async (t) => {
  const { app, http } = await startTestServer(t, { worker: false })
  const offer = (isTerminal: boolean) => offerFirstSignIn(app, operator, { isTerminal })
  const countLinks = async () =>
    (await app.db.selectFrom('login_links').selectAll().execute()).length

  assert.deepEqual(await offer(false), { link: null })
  assert.equal(await countLinks(), 0)
  const offered = await offer(true)
  const token = new URL(offered!.link!).hash.slice('#token='.length)
  assert.equal(await countLinks(), 1)

  // A person of another organization does not own this server's first one.
  const browser = openBrowser(http)
  const account = { email: 'ada@example.com', password: goodPassword }
  await browser.call('POST', '/v1/auth/signup', { ...account, email: 'eve@example.com' })
  assert.notEqual(await offer(true), null)
  assert.equal((await browser.call('POST', '/v1/auth/login-link', { token, account })).status, 200)
  for (const isTerminal of [true, false]) assert.equal(await offer(isTerminal), null)
  assert.equal(await countLinks(), 2)
})
