import type { Endpoint } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Actor } from '../src/actor.ts'
import { assertRefused, send, withRequests } from './endpoint-calls.ts'
import { prepareRequests, type EndpointRequest } from './endpoint-requests.ts'
import { startTestServer } from './harness.ts'

/*
 * What holds for every endpoint, asked of each one that the contract names: whose rows it shows and
 * what its answers look like. Who may call it is in endpoint-matrix.test.ts.
 */

const env = { COMPUTER_SMTP_URL: 'smtp://127.0.0.1:1' }
const server = await startTestServer({ after }, { env })
const owner = server.as(await server.user('owner'))
const all = withRequests(await prepareRequests(server, owner))

test("a stranger's rows do not exist at any endpoint", async () => {
  const actor = await server.user('owner', 'stranger')
  const stranger = server.as(actor)
  // Refusals and their audit events name the ids that the stranger sent.
  const asked: string[] = []
  for (const { name, endpoint, prepare } of all) {
    // Public endpoints have no strangers.
    if (endpoint.requires === 'public') continue
    const request = await prepare()
    const answer = await send(stranger, endpoint, request)
    if (request.ids || namesRows.includes(name)) assertRefused(answer, 'not_found', name)
    asked.push(...organizationsIn(JSON.stringify(request)))
    const known = [...asked, ...(await organizationsOf(actor))]
    for (const id of organizationsIn(answer.bytes.toString())) assert.ok(known.includes(id), name)
  }
})

test('every endpoint answers as the contract says, with no further fields', async () => {
  for (const { name, endpoint, prepare } of all) {
    const answer = await send(owner, endpoint, await prepare())
    assert.equal(answer.status, endpoint.status, `${name} ${answer.bytes}`)
    assert.deepEqual(answer.body, endpoint.response.parse(answer.body), name)
  }
})

test('the machine-relative aliases answer the same', async () => {
  for (const { name, endpoint, prepare } of all) {
    if (!endpoint.path.startsWith('/v1/machines/{machine_id}/')) continue
    const path = endpoint.path.slice('/v1'.length) as Endpoint['path']
    const answer = await send(owner, { ...endpoint, path }, await prepare())
    assert.equal(answer.status, endpoint.status, name)
  }
})

test('every endpoint refuses unknown fields and parameters by name', async () => {
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

/** Endpoints that name rows only in their body. */
const namesRows = [
  'sessions.open',
  'auth.switchOrganization',
  'snapshots.create',
  'templates.create',
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
