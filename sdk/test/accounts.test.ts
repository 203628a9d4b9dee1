import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLoginLink } from '../../server/src/domain/operator/login-links.ts'
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

test('a person signs in with a link that an operator printed', async (t) => {
  const server = await startServer(t)
  const person = await server.signUp({ name: 'Grace' })
  const operator = { type: 'operator', id: 'operator', name: 'root' } as const
  const computer = server.connect({ apiKey: '' })
  const print = async (email: string | null) => {
    const { url, expiresAt } = await createLoginLink(server.app, operator, email)
    return { token: new URL(url).hash.slice('#token='.length), expiresAt }
  }
  const { token, expiresAt } = await print(person.email)
  assert.deepEqual(await computer.auth.lookUpLoginLink(token), {
    organization: { name: "Grace's organization" },
    account: { email: person.email, name: 'Grace' },
    expiresAt: expiresAt.toISOString(),
  })
  const principal = await computer.auth.logInWithLink({ token })
  assert.equal(principal.user?.id, person.id)
  await assert.rejects(computer.auth.logInWithLink({ token }), { code: 'not_found' })

  const first = await print(null)
  const account = { email: 'ada@example.com', password: 'correct horse battery', name: 'Ada' }
  const owner = await computer.auth.logInWithLink({ token: first.token, account })
  assert.deepEqual([owner.user?.name, owner.organization.name], ['Ada', 'Home'])
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
