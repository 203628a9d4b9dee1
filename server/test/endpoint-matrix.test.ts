import {
  ApiKeyScope,
  channels,
  Role,
  rolePermissions,
  scopePermissions,
  type Endpoint,
  type Permission,
} from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import type { Actor } from '../src/actor.ts'
import { openAuthSession } from '../src/domain/accounts/auth-sessions.ts'
import { disableUser } from '../src/domain/operator/users.ts'
import { ownOrigin } from './browser.ts'
import type { Answer } from './call.ts'
import { addColleague, emailOf, membershipOf } from './colleague.ts'
import { allEndpoints, assertRefused, invalidRequest, pathOf, send } from './endpoint-calls.ts'
import { HandshakeRefused, startTestGateway } from './gateway.ts'
import { startTestServer } from './harness.ts'

/*
 * The permission matrix: every endpoint and every channel of the contract, called by every kind of
 * caller, answers as the tables of roles and scopes say.
 */

const server = await startTestServer({ after }, { worker: false })
const gateway = await startTestGateway({ after }, server.app)
const owner = await server.user('owner')
const asOwner = server.as(owner)
const { db } = server.app

type Headers = Record<string, string>
/** A credential and what it allows; null if it is not valid. */
type Caller = { readonly headers: Headers; readonly may: Access | null }
type Access = { readonly by: 'key' | 'browser'; readonly permissions: readonly Permission[] }

test('no credential, and strings that look like one', async () => {
  const { key } = server
  const broken = key.slice(0, -1) + (key.endsWith('0') ? '1' : '0')
  const session = await cookieOf(owner)
  const none: Headers[] = [
    {},
    bearer(''),
    { authorization: key },
    { authorization: `Basic ${key}` },
    bearer(broken),
    bearer(`${key} x`),
    bearer(session.token),
    { cookie: `computer_session=${key}`, origin: ownOrigin },
    { cookie: `computer_session=${session.token.slice(0, -1)}`, origin: ownOrigin },
    { cookie: `computer_session=${session.token}; computer_session=other`, origin: ownOrigin },
  ]
  for (const headers of none) await expectMatrix({ headers, may: null })
})

test('expired and revoked API keys and browser sessions', async () => {
  const [revoked, expired] = [await server.apiKey(), await server.apiKey()]
  await asOwner('DELETE', `/v1/api-keys/${revoked.id}`)
  const past = sql<Date>`now() - interval '1 second'`
  await db.updateTable('api_keys').set({ expires_at: past }).where('id', '=', expired.id).execute()
  await expectMatrix({ headers: bearer(revoked.secret), may: null })
  await expectMatrix({ headers: bearer(expired.secret), may: null })

  const [ended, stale] = [await cookieOf(owner), await cookieOf(owner)]
  const end = await asOwner('DELETE', `/v1/auth/sessions/${ended.id}`)
  assert.equal(end.status, 204)
  await db
    .updateTable('auth_sessions')
    .set({ expires_at: past })
    .where('id', '=', stale.id)
    .execute()
  await expectMatrix({ headers: ended.headers, may: null })
  await expectMatrix({ headers: stale.headers, may: null })
})

for (const role of Role.options) {
  const permissions = rolePermissions[role]

  test(`${role}: in a browser, and by a key with all scopes`, async () => {
    const user = await server.user(role)
    await expectMatrix({
      headers: (await cookieOf(user)).headers,
      may: { by: 'browser', permissions },
    })
    await expectMatrix(await keyOf(user, ApiKeyScope.options, role))
  })

  test(`${role}: by keys with a single scope`, async () => {
    const user = await server.user(role)
    for (const scope of ApiKeyScope.options) await expectMatrix(await keyOf(user, [scope], role))
  })
}

test('a key whose creator was demoted keeps only what the new role allows', async () => {
  const creator = await server.user('owner')
  const { headers } = await keyOf(creator, ApiKeyScope.options, 'owner')
  const membership = await membershipOf(server, creator)
  for (const role of ['admin', 'member'] as const) {
    const answer = await asOwner('PATCH', `/v1/members/${membership}`, { role })
    assert.equal(answer.status, 200)
    await expectMatrix({ headers, may: byKey(ApiKeyScope.options, role) })
  }
})

test('a member who was removed or left loses the organization, and their keys stop working', async () => {
  const removed = await addColleague(server, owner, 'admin')
  const left = await addColleague(server, owner, 'admin')
  const membership = await membershipOf(server, removed)
  const leave = `/v1/organizations/${owner.organizationId}/leave`
  const goings: [Actor, () => Promise<Answer>][] = [
    [removed, () => asOwner('DELETE', `/v1/members/${membership}`)],
    [left, () => server.as(left)('POST', leave)],
  ]
  for (const [creator, go] of goings) {
    const key = await keyOf(creator, ApiKeyScope.options, 'admin')
    const browser = await cookieOf(creator)
    await expectMatrix(key)
    assert.equal((await go()).status, 204)
    await expectMatrix({ ...key, may: null })
    // Their browser session continues in the organization that they own.
    const permissions = rolePermissions.owner
    await expectMatrix({ headers: browser.headers, may: { by: 'browser', permissions } })
  }
})

test('a disabled account, in a browser and by its keys', async () => {
  const user = await server.user('admin')
  const key = await keyOf(user, ApiKeyScope.options, 'admin')
  const browser = await cookieOf(user)
  const operator = { type: 'operator', id: 'operator', name: 'root' } as const
  await disableUser(server.app, operator, await emailOf(server, user))
  await expectMatrix({ headers: key.headers, may: null })
  await expectMatrix({ headers: browser.headers, may: null })
})

async function expectMatrix({ headers, may }: Caller): Promise<void> {
  for (const { name, endpoint } of allEndpoints) {
    const answer = await send(server.anonymous, endpoint, invalidRequest, headers)
    const expected = predict(endpoint, may)
    assertRefused(answer, expected, `${name} by ${JSON.stringify({ headers, may })}`)
    if (expected === 'unauthenticated') assert.equal(answer.headers['www-authenticate'], 'Bearer')
  }
  for (const [name, channel] of Object.entries(channels)) {
    const refusal = await connectInVain(pathOf(channel, invalidRequest), headers)
    assertRefused(refusal, predict(channel, may), `${name} by ${JSON.stringify({ headers, may })}`)
  }
}

async function connectInVain(path: string, sent: Headers): Promise<HandshakeRefused> {
  // The cookie works from pages of the same host as the gateway.
  const headers = sent['origin'] ? { ...sent, origin: gateway.origin } : sent
  const refusal: unknown = await gateway.connect(path, { headers }).then(
    () => assert.fail(`the handshake at ${path} was accepted`),
    (error: unknown) => error,
  )
  if (refusal instanceof HandshakeRefused) return refusal
  throw refusal
}

/** Authorized callers learn that the request is invalid. */
function predict({ requires }: Pick<Endpoint, 'requires'>, may: Access | null) {
  if (requires === 'public') return 'invalid_request'
  // None of the callers is a guest.
  if (may === null || requires === 'guest') return 'unauthenticated'
  const isOpen =
    requires === 'member' ||
    (requires === 'user' ? may.by === 'browser' : may.permissions.includes(requires))
  return isOpen ? 'invalid_request' : 'permission_denied'
}

function byKey(scopes: readonly ApiKeyScope[], role: Role): Access {
  const granted = scopes.flatMap((scope) => scopePermissions[scope])
  return { by: 'key', permissions: rolePermissions[role].filter((one) => granted.includes(one)) }
}

async function keyOf(creator: Actor, scopes: readonly ApiKeyScope[], role: Role): Promise<Caller> {
  const { secret } = await server.apiKey({ creator, scopes })
  return { headers: bearer(secret), may: byKey(scopes, role) }
}

/** A browser on one of the service's own pages. */
async function cookieOf({ userId, organizationId }: Actor) {
  const nowhere = { address: null, userAgent: null }
  const { token, actor } = await db
    .transaction()
    .execute((tx) => openAuthSession(tx, nowhere, userId, organizationId))
  const headers: Headers = { cookie: `computer_session=${token}`, origin: ownOrigin }
  return { token, headers, id: actor.authSessionId }
}

function bearer(secret: string): Headers {
  return { authorization: `Bearer ${secret}` }
}
