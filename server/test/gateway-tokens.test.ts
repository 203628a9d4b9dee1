import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { startTestGateway, type HandshakeRefused } from './gateway.ts'
import { startTestServer } from './harness.ts'

const server = await startTestServer({ after })
const owner = server.as(await server.user('owner'))
const gateway = await startTestGateway({ after }, server.app)

const connect = (token: string, ...others: string[]) =>
  gateway.connect('/v1/events', { protocols: [...others, `bearer.${token}`] })
const isUnauthenticated = (error: HandshakeRefused) => error.status === 401

async function makeToken(call = server.call): Promise<string> {
  const answer = await call('POST', '/v1/gateway-tokens')
  assert.equal(answer.status, 201)
  return answer.body.token
}

test('a token opens one connection, as its creator', async () => {
  const token = await makeToken()
  const client = await connect(token)
  assert.equal(client.socket.protocol, `bearer.${token}`)
  await assert.rejects(connect(token), isUnauthenticated)
})

test('the subprotocol of the client is preferred over the token', async () => {
  const client = await connect(await makeToken(), 'binary')
  assert.equal(client.socket.protocol, 'binary')
})

test('of many concurrent uses of a token, one succeeds', async () => {
  const token = await makeToken()
  const tries = await Promise.allSettled(Array.from({ length: 10 }, () => connect(token)))
  assert.equal(tries.filter(({ status }) => status === 'fulfilled').length, 1)
})

test('a creation that is repeated with its key returns the same token', async () => {
  const headers = { 'idempotency-key': randomUUID() }
  const create = () => server.call('POST', '/v1/gateway-tokens', undefined, headers)
  const [first, again] = [await create(), await create()]
  assert.deepEqual([again.status, again.body], [first.status, first.body])
  assert.equal(again.headers['idempotent-replayed'], 'true')
  await connect(first.body.token)
  await assert.rejects(connect(again.body.token), isUnauthenticated)
})

test('expired, invented and revoked tokens are refused', async () => {
  const expired = await makeToken()
  await server.app.db
    .updateTable('gateway_tokens')
    .set({ expires_at: sql`now()` })
    .execute()
  await assert.rejects(connect(expired), isUnauthenticated)
  await assert.rejects(connect('made-up'), isUnauthenticated)

  const key = await server.apiKey()
  const token = await makeToken(key.call)
  await owner('DELETE', `/v1/api-keys/${key.id}`)
  await assert.rejects(connect(token), isUnauthenticated)
})

test('a token created in a browser ends with its session', async () => {
  const person = await server.signUp()
  const client = await connect(await makeToken(person.call))
  await person.call('POST', '/v1/auth/logout')
  assert.equal((await client.closed).code, 4401)
})
