import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startComputer } from './computer.ts'

const { run, json, server, folder } = await startComputer({ after })
const { id } = await server.machine({ name: 'first' })

test('a secret is read from standard input, and only its name is ever printed', async () => {
  const value = 'not to be seen'
  const set = await run(['secrets', 'set', 'first', 'API_TOKEN'], { stdin: `${value}\n` })
  assert.equal(set.stdout, 'API_TOKEN of first is stored (version 1)\n')
  const [secret] = await json('secrets', 'list', 'first')
  assert.deepEqual([secret.name, secret.version], ['API_TOKEN', 1])
  assert.equal((await json('secrets', 'list'))[0].machine_id, id)
  const table = await run(['secrets', 'list'])
  assert.match(table.stdout, /^NAME +VERSION +DELIVERED +MACHINE\nAPI_TOKEN +1 /)
  assert.ok(!table.stdout.includes(value))
  assert.equal((await run(['exec', 'first', 'printenv', 'API_TOKEN'])).stdout, `${value}\n`)
  const asArgument = await run(['secrets', 'set', 'first', 'API_TOKEN', value])
  assert.equal(asArgument.code, 2)
  assert.equal((await run(['secrets', 'delete', 'first', 'API_TOKEN', '--yes'])).code, 0)
  assert.deepEqual(await json('secrets', 'list', 'first'), [])
})

test('a port is published, listed and unpublished', async () => {
  const published = await run(['ports', 'publish', 'first', '3000', '--name', 'site'])
  assert.match(
    published.stdout,
    /^url +https:\/\/\S+\naccess +private\nsecret +\S+\nopen once +https:/,
  )
  const [port] = await json('ports', 'list', 'first')
  assert.deepEqual([port.port, port.name, port.secret], [3000, 'site', null])
  assert.deepEqual(await json('ports', 'list'), [port])
  assert.equal((await json('ports', 'publish', 'first', '4000', '--public')).access, 'public')
  assert.equal((await run(['ports', 'unpublish', 'first', '3000'])).code, 0)
  assert.equal((await run(['ports', 'unpublish', 'first', '3000'])).code, 5)
  assert.equal((await run(['ports', 'publish', 'first', 'web'])).code, 2)
})

test('keys are listed without secrets, and with --all including revoked ones', async () => {
  const { id: revoked, secret } = await server.apiKey({ name: 'old', scopes: ['machines:read'] })
  await server.app.db
    .updateTable('api_keys')
    .set({ revoked_at: new Date() })
    .where('id', '=', revoked)
    .execute()
  const { stdout } = await run(['keys', 'list'])
  assert.match(stdout, /^NAME +PREFIX +ID +USED +STATE +SCOPES\n.* valid /)
  assert.doesNotMatch(stdout, /^old /m)
  const all = await run(['keys', 'list', '--all'])
  assert.match(all.stdout, /^old .*revoked +machines:read$/m)
  for (const key of [secret, server.key]) assert.ok(!all.stdout.includes(key))
})

test('a screenshot is written to a file or to standard output', async () => {
  const shot = await run(['screenshot', 'first'])
  assert.match(shot.stdout, /^first\.png \(\d+x\d+\)\n$/)
  const isPng = (bytes: Buffer) => bytes.subarray(1, 4).toString() === 'PNG'
  assert.ok(isPng(await readFile(join(folder, 'first.png'))))
  assert.ok(isPng((await run(['screenshot', 'first', '-'])).bytes))
  assert.equal((await json('screenshot', 'first', 'shot.jpg')).format, 'jpeg')
})

test('control characters in server data are not printed', async () => {
  await json('snapshots', 'create', 'first', 'red \u001b[31m and\u0007 loud')
  const { stdout } = await run(['snapshots', 'list'])
  assert.match(stdout, /red {2}?\[31m and/)
  // oxlint-disable-next-line no-control-regex -- asserted to be absent.
  assert.doesNotMatch(stdout, /[\u0000-\u0009\u000b-\u001f]/)
})

test('what only a person may delete is refused to a key, with what to do', async () => {
  for (const args of [
    ['account', 'delete', '--yes'],
    ['org', 'delete', 'Home', '--yes'],
  ]) {
    const { code, stderr } = await run(args, { stdin: 'a password' })
    assert.equal(code, 4)
    assert.match(stderr, /signed in with an API key; use the profile of a person/)
  }
})
