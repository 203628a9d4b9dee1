import assert from 'node:assert/strict'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startComputer } from './computer.ts'
import { givePlan } from '../../server/test/plans.ts'

const computer = await startComputer({ after })
const { server, run, runOutside, folder } = computer
const configFile = join(folder, '.config/computer/config.json')

test('login verifies the key, stores it readable by its owner only, and never prints it', async () => {
  const before = await runOutside(['me'])
  assert.equal(before.code, 3)
  assert.match(before.stderr, /^error: not signed in\n.*computer login/)

  const wrong = await runOutside(['login', '--url', server.baseUrl], { stdin: 'cmp_wrong\n' })
  assert.equal(wrong.code, 3)
  await assert.rejects(stat(configFile), { code: 'ENOENT' })

  const login = await runOutside(['login', '--url', server.baseUrl], { stdin: `${server.key}\n` })
  assert.equal(login.code, 0, login.stderr)
  assert.match(login.stdout, /^Signed in to .* at http.*profile default/)
  const me = await runOutside(['me'])
  assert.match(me.stdout, /^profile +default$/m)
  assert.match(me.stdout, /^permissions +machines:create /m)
  for (const { stdout, stderr } of [login, me, await runOutside(['profiles', 'list', '--json'])])
    assert.ok(!(stdout + stderr).includes(server.key))

  assert.equal((await stat(configFile)).mode & 0o777, 0o600)
  assert.equal((await stat(join(folder, '.config/computer'))).mode & 0o777, 0o700)
  assert.ok((await readFile(configFile, 'utf8')).includes(server.key))
})

test('profiles are selected by flag, by variable or as current, and can be removed', async () => {
  const { secret } = await server.apiKey({ name: 'Reader', scopes: ['machines:read'] })
  const args = ['login', '--profile', 'reader', '--url', server.baseUrl, '--key', secret]
  assert.equal((await runOutside(args)).code, 0)
  const keyNow = async (args: string[] = [], env = {}) => {
    const { stdout } = await runOutside(['me', '--json', ...args], { env })
    return JSON.parse(stdout).api_key.name as string
  }
  assert.equal(await keyNow(), 'Reader')
  const first = await keyNow(['--profile', 'default'])
  assert.notEqual(first, 'Reader')
  assert.equal(await keyNow([], { COMPUTER_PROFILE: 'default' }), first)
  assert.equal((await runOutside(['profiles', 'use', 'default'])).code, 0)
  assert.equal(await keyNow(), first)
  // The environment overrides the current profile, and --profile overrides both.
  const env = { COMPUTER_API_KEY: secret, COMPUTER_BASE_URL: server.baseUrl }
  assert.equal(await keyNow([], env), 'Reader')
  assert.equal(await keyNow(['--profile', 'default'], env), first)

  assert.equal((await runOutside(['logout', '--profile', 'reader'])).code, 0)
  assert.ok(!(await readFile(configFile, 'utf8')).includes(secret))
  assert.equal((await runOutside(['me', '--profile', 'reader'])).code, 3)
})

test('the key of a profile is never sent to another server', async () => {
  const { code, stderr } = await runOutside(['me'], {
    env: { COMPUTER_BASE_URL: 'http://127.0.0.1:9' },
  })
  assert.equal(code, 3)
  assert.match(stderr, /no profile is signed in to http:\/\/127\.0\.0\.1:9/)
})

test('each class of failure has its own exit code and says what to do', async () => {
  const { secret } = await server.apiKey({ scopes: ['machines:read'] })
  const denied = await run(['machines', 'create'], { env: { COMPUTER_API_KEY: secret } })
  assert.equal(denied.code, 4)
  assert.match(denied.stderr, /`computer me`/)

  const invalid = await run(['machines', 'create', 'NOT OK'])
  assert.equal(invalid.code, 2)
  assert.match(invalid.stderr, /\n {2}name: /)

  await run(['machines', 'create', 'one'])
  const conflict = await run(['machines', 'create', 'one'])
  assert.equal(conflict.code, 6)

  await givePlan(server.app.db, { planId: 'free' })
  const quota = await run(['machines', 'create', 'two'])
  assert.equal(quota.code, 7)
  assert.match(
    quota.stderr,
    /^error: plan free allows 1 (running )?machines, and 1 exist\. (Stop|Delete) one, or /,
  )
  const inJson = await run(['machines', 'create', 'two', '--json'])
  assert.equal(JSON.parse(inJson.stderr).error.quota.plan_id, 'free')

  const away = await run(['me'], { env: { COMPUTER_BASE_URL: 'http://127.0.0.1:9' } })
  assert.equal(away.code, 8)
  assert.match(away.stderr, /Is the server up\?/)
  assert.equal((await run(['machines', 'fly'])).code, 2)
})
