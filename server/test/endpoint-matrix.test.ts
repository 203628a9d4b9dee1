import {
  ApiKeyScope,
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
import { allEndpoints, assertRefused, invalidRequest, send } from './endpoint-calls.ts'
import { startTestServer } from './harness.ts'

/*
 * Calls every endpoint of the contract with every kind of credential, and compares the response with the
 * tables of roles and scopes.
 */

const server = await startTestServer({ after }, { worker: false })
const owner = await server.user('owner')
const asOwner = server.as(owner)
const { db } = server.app

type Headers = Record<string, string>
/** The headers of a credential, and what it grants; null if it is invalid. */
type Credential = { readonly headers: Headers; readonly grants: Grants | null }
type Grants = { readonly by: 'key' | 'browser'; readonly permissions: readonly Permission[] }

test('no credential, and invalid credentials', async () => {
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
  for (const headers of none) await expectMatrix({ headers, grants: null })
})

test('expired and revoked keys and browser sessions', async () => {
  const [revoked, expired] = [await server.apiKey(), await server.apiKey()]
  await asOwner('DELETE', `/v1/api-keys/${revoked.id}`)
  const past = sql<Date>`now() - interval '1 second'`
  await db.updateTable('api_keys').set({ expires_at: past }).where('id', '=', expired.id).execute()
  await expectMatrix({ headers: bearer(revoked.secret), grants: null })
  await expectMatrix({ headers: bearer(expired.secret), grants: null })

  const [ended, stale] = [await cookieOf(owner), await cookieOf(owner)]
  const end = await asOwner('DELETE', `/v1/auth/sessions/${ended.id}`)
  assert.equal(end.status, 204)
  await db
    .updateTable('auth_sessions')
    .set({ expires_at: past })
    .where('id', '=', stale.id)
    .execute()
  await expectMatrix({ headers: ended.headers, grants: null })
  await expectMatrix({ headers: stale.headers, grants: null })
})

for (const role of Role.options) {
  const permissions = rolePermissions[role]

  test(`${role}: in a browser, and by a key with all scopes`, async () => {
    const user = await server.user(role)
    await expectMatrix({
      headers: (await cookieOf(user)).headers,
      grants: { by: 'browser', permissions },
    })
    await expectMatrix(await keyOf(user, ApiKeyScope.options, role))
  })

  test(`${role}: by keys with a single scope`, async () => {
    const user = await server.user(role)
    for (const scope of ApiKeyScope.options) await expectMatrix(await keyOf(user, [scope], role))
  })
}

test('a key of a demoted creator keeps only the permissions of the new role', async () => {
  const creator = await server.user('owner')
  const { headers } = await keyOf(creator, ApiKeyScope.options, 'owner')
  const membership = await membershipOf(server, creator)
  for (const role of ['admin', 'member'] as const) {
    const answer = await asOwner('PATCH', `/v1/members/${membership}`, { role })
    assert.equal(answer.status, 200)
    await expectMatrix({ headers, grants: byKey(ApiKeyScope.options, role) })
  }
})

test('a user who was removed or left has no access, and their keys are refused', async () => {
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
    await expectMatrix({ ...key, grants: null })
    // Their browser session goes on in their personal organization.
    const permissions = rolePermissions.owner
    await expectMatrix({ headers: browser.headers, grants: { by: 'browser', permissions } })
  }
})

test('a disabled account, in a browser and by its keys', async () => {
  const user = await server.user('admin')
  const key = await keyOf(user, ApiKeyScope.options, 'admin')
  const browser = await cookieOf(user)
  const operator = { type: 'operator', id: 'operator', name: 'root' } as const
  await disableUser(server.app, operator, await emailOf(server, user))
  await expectMatrix({ headers: key.headers, grants: null })
  await expectMatrix({ headers: browser.headers, grants: null })
})

async function expectMatrix({ headers, grants }: Credential): Promise<void> {
  for (const { name, endpoint } of allEndpoints) {
    const answer = await send(server.anonymous, endpoint, invalidRequest, headers)
    const expected = predict(endpoint, grants)
    assertRefused(answer, expected, `${name} by ${JSON.stringify({ headers, grants })}`)
    if (expected === 'unauthenticated') assert.equal(answer.headers['www-authenticate'], 'Bearer')
  }
}

/** An authorized caller gets `invalid_request`, because the request is invalid. */
function predict({ requires }: Endpoint, grants: Grants | null) {
  if (requires === 'public') return 'invalid_request'
  if (grants === null) return 'unauthenticated'
  const isOpen =
    requires === 'member' ||
    (requires === 'user' ? grants.by === 'browser' : grants.permissions.includes(requires))
  return isOpen ? 'invalid_request' : 'permission_denied'
}

function byKey(scopes: readonly ApiKeyScope[], role: Role): Grants {
  const granted = scopes.flatMap((scope) => scopePermissions[scope])
  return { by: 'key', permissions: rolePermissions[role].filter((one) => granted.includes(one)) }
}

async function keyOf(
  creator: Actor,
  scopes: readonly ApiKeyScope[],
  role: Role,
): Promise<Credential> {
  const { secret } = await server.apiKey({ creator, scopes })
  return { headers: bearer(secret), grants: byKey(scopes, role) }
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
