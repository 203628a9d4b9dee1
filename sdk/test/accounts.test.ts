import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startServer } from './server.ts'

test('an invitation is looked up by its token, without a credential', async (t) => {
  const server = await startServer(t)
  const owner = await server.signUp()
  const { body } = await owner.call('POST', '/v1/invitations', { email: 'ada@example.com' })
  const token = new URL(body.accept_url).hash.slice('#token='.length)
  const { invitations } = server.connect({ apiKey: '' })
  const found = await invitations.lookup(token)
  assert.deepEqual([found.email, found.role, found.state], ['ada@example.com', 'member', 'pending'])
  assert.equal(typeof found.organization.name, 'string')
  await assert.rejects(invitations.lookup(`${token}x`), { code: 'not_found' })
})

test('a person deletes an organization, then their account', async (t) => {
  const server = await startServer(t)
  const person = await server.signUp()
  const { origin } = new URL(server.baseUrl)
  // As a browser does.
  const withCookie: typeof globalThis.fetch = (url, init) => {
    const headers = new Headers(init?.headers)
    headers.set('cookie', person.cookie()!)
    headers.set('origin', origin)
    return fetch(url, { ...init, headers })
  }
  const computer = server.connect({ apiKey: '', fetch: withCookie })
  const { id } = await computer.organizations.create('Short-lived')
  await computer.organizations.delete(id)
  const { organizations, organization } = await computer.me()
  assert.deepEqual(
    organizations.map((one) => one.id),
    [organization.id],
  )
  const only = computer.organizations.delete(organization.id)
  await assert.rejects(only, { code: 'conflict', message: /only organization/ })

  const wrong = computer.auth.deleteAccount({ password: 'not this one' })
  await assert.rejects(wrong, { code: 'permission_denied' })
  await computer.auth.deleteAccount({ password: person.password })
  await assert.rejects(computer.me(), { code: 'unauthenticated' })
})
