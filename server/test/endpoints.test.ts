import { aliasOf, type Endpoint } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Actor } from '../src/actor.ts'
import { assertRefused, send, withRequests } from './endpoint-calls.ts'
import { prepareRequests, type EndpointRequest } from './endpoint-requests.ts'
import { startTestServer } from './harness.ts'

/*
 * Properties of every endpoint of the contract: isolation between organizations, and the shape of
 * responses. Permissions are tested in endpoint-matrix.test.ts.
 */

const env = { COMPUTER_SMTP_URL: 'smtp://127.0.0.1:1' }
const server = await startTestServer({ after }, { env })
const owner = server.as(await server.user('owner'))
const all = withRequests(await prepareRequests(server, owner))

test('no endpoint finds rows of another organization', async () => {
  const actor = await server.user('owner', 'stranger')
  const stranger = server.as(actor)
  // Refusals and their audit events may repeat ids that the stranger sent.
  const asked: string[] = []
  for (const { name, endpoint, prepare } of all) {
    // No foreign callers are there for public endpoints, and strangers are no guests.
    if (endpoint.requires === 'public' || endpoint.requires === 'guest') continue
    const request = await prepare()
    const answer = await send(stranger, endpoint, request)
    const isForeign = request.ids !== undefined && name !== 'plans.get'
    if (isForeign || namesRows.includes(name)) assertRefused(answer, 'not_found', name)
    asked.push(...organizationsIn(JSON.stringify(request)))
    const known = [...asked, ...(await organizationsOf(actor))]
    for (const id of organizationsIn(answer.bytes.toString())) assert.ok(known.includes(id), name)
  }
})

test('every response matches the contract and has no further fields', async () => {
  for (const { name, endpoint, prepare } of all) {
    const request = await prepare()
    const answer = await sendByOwner(endpoint, request)
    if (request.refusal) {
      assertRefused(answer, request.refusal, name)
      continue
    }
    assert.equal(answer.status, endpoint.status, `${name} ${answer.bytes}`)
    if (endpoint.textTypes) {
      const [type] = String(answer.headers['content-type']).split(';')
      assert.ok(endpoint.textTypes.includes(type!), name)
      continue
    }
    assert.deepEqual(answer.body, endpoint.response.parse(answer.body), name)
  }
})

test('the machine-relative aliases respond with the same status', async () => {
  for (const { name, endpoint, prepare } of all) {
    const path = aliasOf(endpoint.path) as Endpoint['path'] | null
    if (path === null) continue
    const answer = await sendByOwner({ ...endpoint, path }, await prepare())
    assert.equal(answer.status, endpoint.status, name)
  }
})

test('every endpoint refuses unknown fields and parameters by name', async () => {
  for (const { name, endpoint, prepare } of all) {
    const request = await prepare()
    const withField = { ...request, body: { ...(request.body as object), unknown_field: 1 } }
    const query = [request.query, 'unknown_parameter=1'].filter(Boolean).join('&')
    const tries: [EndpointRequest, string][] = [[{ ...request, query }, 'unknown_parameter']]
    const hasFields = endpoint.method !== 'GET' && !(endpoint.uploads && !endpoint.body)
    if (hasFields) tries.push([withField, 'unknown_field'])
    for (const [bad, field] of tries) {
      const answer = await sendByOwner(endpoint, bad)
      assertRefused(answer, 'invalid_request', `${name} ${field}`)
      assert.deepEqual(
        answer.body.error.details.map((detail: { field: string }) => detail.field),
        [field],
        name,
      )
    }
  }
})

function sendByOwner(endpoint: Endpoint, request: EndpointRequest) {
  return send(request.caller ?? owner, endpoint, request)
}

/** Endpoints that name rows in the body only. */
const namesRows = [
  'sessions.open',
  'auth.switchOrganization',
  'snapshots.create',
  'templates.create',
  'billing.estimate',
]

const organizationsIn = (text: string) => text.match(/org_[0-9a-z]{26}/g) ?? []

async function organizationsOf({ userId }: Pick<Actor, 'userId'>): Promise<string[]> {
  const memberships = await server.app.db
    .selectFrom('memberships')
    .select('organization_id')
    .where('user_id', '=', userId)
    .execute()
  return memberships.map(({ organization_id }) => organization_id)
}
