import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startComputer } from './computer.ts'

const { run, runOutside, server, folder } = await startComputer({ after })
const { email, password, personalId } = await server.signUp({ name: 'Ada' })
const configFile = join(folder, '.config/computer/config.json')

test('a person signs in with a password, which is neither stored nor printed', async () => {
  const url = ['--url', server.baseUrl, '--email', email]
  const wrong = await runOutside(['login', ...url], { stdin: 'not the password' })
  assert.equal(wrong.code, 3)
  assert.match(wrong.stderr, /wrong email or password/)
  const both = await runOutside(['login', ...url, '--key', 'x'], { stdin: password })
  assert.equal(both.code, 2)
  const login = await runOutside(['login', ...url], { stdin: `${password}\n` })
  assert.match(login.stdout, /^Signed in to Ada.* at http.*profile default/, login.stderr)
  assert.ok(!(await readFile(configFile, 'utf8')).includes(password))
  const me = await runOutside(['me'])
  assert.match(me.stdout, new RegExp(`^user +${email} `, 'm'))
  assert.match(me.stdout, /^permissions .*api_keys:manage/m)
})

test('a person creates, lists and revokes keys, and the secret stands alone on standard output', async () => {
  const scope = ['--scope', 'machines:read', 'machines:control', '--expires', '2999-01-31']
  const created = await runOutside(['keys', 'create', 'ci', ...scope])
  assert.equal(created.code, 0, created.stderr)
  assert.match(created.stdout, /^computer_\w+\n$/)
  assert.match(created.stderr, /^Created ci \(key_\w+\)/)
  const env = { COMPUTER_API_KEY: created.stdout.trim(), COMPUTER_BASE_URL: server.baseUrl }
  const me = JSON.parse((await runOutside(['me', '--json'], { env })).stdout)
  assert.deepEqual(me.api_key.scopes, ['machines:read', 'machines:control'])
  assert.equal(me.organization.id, personalId)

  const whole = JSON.parse((await runOutside(['keys', 'create', 'all', '--json'])).stdout)
  assert.equal(whole.scopes.length, 13)
  const [listed] = JSON.parse((await runOutside(['keys', 'list', '--json'])).stdout)
  assert.deepEqual([listed.id, listed.secret], [whole.id, undefined])

  const revoked = await runOutside(['keys', 'revoke', 'ci', '--yes'])
  assert.match(revoked.stdout, /^ci \(key_\w+\) is revoked\n$/)
  assert.equal((await runOutside(['me'], { env })).code, 3)
  assert.equal((await runOutside(['keys', 'revoke', 'ci', '--yes'])).code, 5)
  assert.equal((await runOutside(['keys', 'create', 'x', '--scope', 'everything'])).code, 2)
  assert.equal((await runOutside(['keys', 'create', 'x', '--expires', 'soon'])).code, 2)
})

test('a person works with machines as a key does', async () => {
  await runOutside(['machines', 'create', 'mine'])
  assert.equal((await runOutside(['exec', 'mine', 'whoami'])).stdout, 'agent\n')
})

test('an API key is told who creates keys', async () => {
  for (const words of [
    ['create', 'x'],
    ['revoke', 'x', '--yes'],
  ]) {
    const { code, stderr } = await run(['keys', ...words])
    assert.equal(code, 4)
    assert.match(stderr, /COMPUTER_API_KEY[^]*computer login --email/)
  }
})

test('logout ends the session', async () => {
  const { session } = JSON.parse(await readFile(configFile, 'utf8')).profiles.default
  const me = { headers: { cookie: `computer_session=${session}` } }
  const address = `${server.baseUrl}v1/auth/me`
  assert.equal((await fetch(address, me)).status, 200)
  assert.equal((await runOutside(['logout'])).code, 0)
  assert.equal((await fetch(address, me)).status, 401)
  assert.equal((await runOutside(['me'])).code, 3)
})
