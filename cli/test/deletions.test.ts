import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startComputer } from './computer.ts'

const { runOutside, server } = await startComputer({ after })
const { email, password, call } = await server.signUp({ name: 'Ada' })
const login = ['login', '--url', server.baseUrl, '--email', email]
assert.equal((await runOutside(login, { stdin: `${password}\n` })).code, 0)

test('a person deletes an organization by its name, but not the only one', async () => {
  const created = await call('POST', '/v1/organizations', { name: 'Short-lived' })
  assert.equal(created.status, 201)
  const unknown = await runOutside(['org', 'delete', 'Long-lived', '--yes'])
  assert.equal(unknown.code, 5)
  assert.match(unknown.stderr, /"Long-lived" not found; yours are .*"Short-lived"/)
  const deleted = await runOutside(['org', 'delete', 'Short-lived', '--yes'])
  assert.equal(deleted.code, 0, deleted.stderr)
  const { organizations } = JSON.parse((await runOutside(['me', '--json'])).stdout)
  assert.equal(organizations.length, 1)

  const only = await runOutside(['org', 'delete', organizations[0].id, '--yes'])
  assert.equal(only.code, 6)
  assert.match(only.stderr, /only organization/)
})

test('a person deletes their account with its password, and is signed out', async () => {
  const remove = ['account', 'delete', '--yes']
  assert.equal((await runOutside(remove, { stdin: 'not the password' })).code, 4)
  assert.equal((await runOutside(['me'])).code, 0)
  const deleted = await runOutside(remove, { stdin: password })
  assert.equal(deleted.code, 0, deleted.stderr)
  assert.match(deleted.stdout, new RegExp(`account of ${email} is deleted`))
  assert.equal((await runOutside(['me'])).code, 3)
})
