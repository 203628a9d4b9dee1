import {
  ApiKeyScope,
  ErrorEnvelope,
  errorStatus,
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
import { prepareRequests, type EndpointRequest } from './endpoint-requests.ts'
import { endpoints, startTestServer, type Answer, type Call } from './harness.ts'
import { eventually } from './settled.ts'

/*
 * What holds for every endpoint, asked of each one that the contract names: who may call it, whose
 * rows it shows and what its answers look like.
 */

const env = { COMPUTER_SMTP_URL: 'smtp://127.0.0.1:1' }
const server = await startTestServer({ after }, { env })
const owner = server.as(await server.user('owner'))
const requests = await prepareRequests(server, owner)
const all = Object.entries(endpoints).flatMap(([group, members]) =>
  Object.entries(members).map(([name, endpoint]: [string, Endpoint]) => {
    const prepared = requests[group as keyof typeof requests] as Record<
      string,
      () => Promise<EndpointRequest>
    >
    return { name: `${group}.${name}`, endpoint, prepare: prepared[name]! }
  }),
)

test('every endpoint refuses who has no valid key', async () => {
  const { db } = server.app
  const revoked = await server.apiKey()
  await db
    .updateTable('api_keys')
    .set({ revoked_at: sql`now()` })
    .where('id', '=', revoked.id)
    .execute()
  const expired = await server.apiKey()
  await db
    .updateTable('api_keys')
    .set({ expires_at: sql`now() - interval '1 second'` })
    .where('id', '=', expired.id)
    .execute()
  const broken = server.key.slice(0, -1) + (server.key.endsWith('0') ? '1' : '0')
  const credentials: Record<string, string>[] = [
    {},
    ...[
      'Bearer',
      `Basic ${server.key}`,
      server.key,
      `Bearer ${broken}`,
      `Bearer ${revoked.secret}`,
      `Bearer ${expired.secret}`,
      `Bearer ${server.key} x`,
    ].map((authorization) => ({ authorization })),
  ]
  for (const { name, endpoint } of all) {
    if (endpoint.requires === 'public') continue
    for (const headers of credentials) {
      const answer = await send(server.anonymous, endpoint, absent, headers)
      assertRefused(answer, 'unauthenticated', `${name} ${headers['authorization']}`)
      assert.equal(answer.headers['www-authenticate'], 'Bearer')
    }
  }
})

test('every endpoint is open to the roles that have its permission, and to no other', async () => {
  for (const role of Role.options) {
    const call = server.as(await server.user(role))
    for (const { name, endpoint } of all) {
      const may = isOpen(endpoint, { to: 'user', with: rolePermissions[role] })
      assertMay(await send(call, endpoint, absent), may, `${role} ${name}`)
    }
  }
})

test('every endpoint is open to the scopes that grant its permission, and to no other', async () => {
  for (const scope of ApiKeyScope.options) {
    const { call } = await server.apiKey({ scopes: [scope] })
    for (const { name, endpoint } of all) {
      const may = isOpen(endpoint, { to: 'api_key', with: scopePermissions[scope] })
      assertMay(await send(call, endpoint, absent), may, `${scope} ${name}`)
    }
  }
})

test("a stranger's rows do not exist at any endpoint", async () => {
  const actor = await server.user('owner', 'stranger')
  const stranger = server.as(actor)
  // Refusals, and the audit log of them, name what the stranger named.
  const asked: string[] = []
  for (const { name, endpoint, prepare } of all) {
    // What is public knows no stranger.
    if (endpoint.requires === 'public') continue
    const request = await prepare()
    const answer = await send(stranger, endpoint, request)
    if (request.ids || namesRows.includes(name)) assertRefused(answer, 'not_found', name)
    asked.push(...organizationsIn(JSON.stringify(request)))
    const known = [...asked, ...(await organizationsOf(actor))]
    for (const id of organizationsIn(answer.bytes.toString())) assert.ok(known.includes(id), name)
  }
})

test('every endpoint answers as the contract says, and names nothing more', async () => {
  for (const { name, endpoint, prepare } of all) {
    const answer = await send(owner, endpoint, await prepare())
    assert.equal(answer.status, endpoint.status, `${name} ${answer.bytes}`)
    assert.deepEqual(answer.body, endpoint.response.parse(answer.body), name)
  }
})

test('every answer of the machine-relative alias is the same', async () => {
  for (const { name, endpoint, prepare } of all) {
    if (!endpoint.path.startsWith('/v1/machines/{machine_id}/')) continue
    const path = endpoint.path.slice('/v1'.length) as Endpoint['path']
    const answer = await send(owner, { ...endpoint, path }, await prepare())
    assert.equal(answer.status, endpoint.status, name)
  }
})

test('every endpoint refuses a field and a parameter it does not know, by name', async () => {
  for (const { name, endpoint, prepare } of all) {
    const request = await prepare()
    const withField = { ...request, body: { ...(request.body as object), unknown_field: 1 } }
    const query = [request.query, 'unknown_parameter=1'].filter(Boolean).join('&')
    const tries: [EndpointRequest, string][] = [[{ ...request, query }, 'unknown_parameter']]
    if (endpoint.method !== 'GET') tries.push([withField, 'unknown_field'])
    for (const [bad, field] of tries) {
      const answer = await send(owner, endpoint, bad)
      assertRefused(answer, 'invalid_request', `${name} ${field}`)
      assert.deepEqual(
        answer.body.error.details.map((detail: { field: string }) => detail.field),
        [field],
        name,
      )
    }
  }
})

test('a key loses what its creator loses', async () => {
  const { db } = server.app
  const creator = await server.user('admin')
  const { call } = await server.apiKey({ creator })
  const remove = () => call('DELETE', `/v1/machines/${absent.ids!['machine_id']}`)
  assert.equal((await remove()).status, 404)
  await db
    .updateTable('memberships')
    .set({ role: 'member' })
    .where('user_id', '=', creator.userId)
    .execute()
  // Who a key stands for is remembered for less than a second.
  await eventually(async () => (await remove()).status === 403 || undefined)
  const { body } = await call('GET', '/v1/auth/me')
  assert.ok(!body.permissions.includes('machines:delete'))
  await db.deleteFrom('memberships').where('user_id', '=', creator.userId).execute()
  await eventually(async () => (await remove()).status === 401 || undefined)
  assert.equal((await call('GET', '/v1/machines')).status, 401)
})

/** A call that nothing but its refusal comes of: enough to see whether a caller is let in. */
const absent: EndpointRequest = {
  query: 'unknown_parameter=1',
  ids: {
    machine_id: `mch_${'0'.repeat(26)}`,
    session_id: `ses_${'0'.repeat(26)}`,
    api_key_id: `key_${'0'.repeat(26)}`,
    organization_id: `org_${'0'.repeat(26)}`,
    membership_id: `mem_${'0'.repeat(26)}`,
    invitation_id: `inv_${'0'.repeat(26)}`,
    auth_session_id: `aus_${'0'.repeat(26)}`,
    snapshot_id: `snp_${'0'.repeat(26)}`,
    template_id: `tpl_${'0'.repeat(26)}`,
  },
}

/** What names rows in its body alone. */
const namesRows = [
  'sessions.open',
  'auth.switchOrganization',
  'snapshots.create',
  'templates.create',
]

function isOpen(
  { requires }: Endpoint,
  caller: { readonly to: 'user' | 'api_key'; readonly with: readonly Permission[] },
): boolean {
  if (requires === 'public' || requires === 'member') return true
  return requires === 'user' ? caller.to === 'user' : caller.with.includes(requires)
}

const organizationsIn = (text: string) => text.match(/org_[0-9a-z]{26}/g) ?? []

async function organizationsOf({ userId }: Pick<Actor, 'userId'>): Promise<string[]> {
  const memberships = await server.app.db
    .selectFrom('memberships')
    .select('organization_id')
    .where('user_id', '=', userId)
    .execute()
  return memberships.map(({ organization_id }) => organization_id)
}

function send(
  call: Call,
  endpoint: Endpoint,
  { ids = {}, query, body }: EndpointRequest,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const path = endpoint.path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'missing')
  return call(endpoint.method, query ? `${path}?${query}` : path, body, headers)
}

function assertRefused(answer: Answer, code: keyof typeof errorStatus, what: string): void {
  const { error } = ErrorEnvelope.strict().parse(answer.body)
  assert.deepEqual([answer.status, error.code], [errorStatus[code], code], what)
}

function assertMay(answer: Answer, may: boolean, what: string): void {
  assertRefused(answer, may ? 'invalid_request' : 'permission_denied', what)
}
