import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { startTestGateway } from './gateway.ts'
import { startTestServer } from './harness.ts'

/* A connection to the gateway closes within a second of losing its authorization, with a code for the reason. */

const server = await startTestServer({ after })
const gateway = await startTestGateway({ after }, server.app)
const owner = server.as(await server.user('owner'))
const { db } = server.app

async function follow(secret: string, path = '/v1/events') {
  return gateway.connect(path, { headers: { authorization: `Bearer ${secret}` } })
}

test('a key that is revoked or expires closes its connections', async () => {
  const revoked = await server.apiKey()
  const first = await follow(revoked.secret)
  await owner('DELETE', `/v1/api-keys/${revoked.id}`)
  assert.equal((await first.closed).code, 4401)

  const expired = await server.apiKey()
  const second = await follow(expired.secret)
  await db
    .updateTable('api_keys')
    .set({ expires_at: sql`now()` })
    .where('id', '=', expired.id)
    .execute()
  assert.equal((await second.closed).code, 4401)
})

test('a creator who is removed or disabled closes the connections of their keys', async () => {
  const removed = await server.user('member')
  const first = await follow((await server.apiKey({ creator: removed })).secret)
  const { body } = await owner('GET', '/v1/members?limit=100')
  const membership = body.data.find(
    ({ user }: { user: { id: string } }) => user.id === removed.userId,
  )
  await owner('DELETE', `/v1/members/${membership.id}`)
  assert.equal((await first.closed).code, 4403)

  const disabled = await server.user('member')
  const second = await follow((await server.apiKey({ creator: disabled })).secret)
  await db
    .updateTable('users')
    .set({ disabled_at: sql`now()` })
    .where('id', '=', disabled.userId)
    .execute()
  assert.equal((await second.closed).code, 4401)
})

test('a lost permission closes the channels that require it, and no others', async () => {
  const { id } = await server.machine()
  const key = await server.apiKey({ scopes: ['machines:control'] })
  const terminal = await key.call('POST', `/v1/machines/${id}/terminals`, {})
  const controlling = await follow(key.secret, `/v1/machines/${id}/terminals/${terminal.body.id}`)
  const reading = await Promise.all(
    ['/v1/events', `/v1/machines/${id}/events`, `/v1/machines/${id}/screen`].map((path) =>
      follow(key.secret, path),
    ),
  )
  await db
    .updateTable('api_keys')
    .set({ scopes: ['machines:read'] })
    .where('id', '=', key.id)
    .execute()
  assert.equal((await controlling.closed).code, 4403)
  for (const { socket } of reading) assert.equal(socket.readyState, socket.OPEN)
})

test('a deleted machine closes its channels', async () => {
  const { id } = await server.machine({ start: false })
  const client = await follow(server.key, `/v1/machines/${id}/events`)
  await server.call('DELETE', `/v1/machines/${id}`)
  assert.equal((await client.closed).code, 4404)
  // Its last event was sent before the close.
  assert.equal(client.controls.at(-1)!['type'], 'machine.deleted')
})

test('other connections stay open', async () => {
  const doomed = await server.apiKey()
  const bystander = await follow(server.key)
  const client = await follow(doomed.secret)
  await owner('DELETE', `/v1/api-keys/${doomed.id}`)
  await client.closed
  assert.equal(bystander.socket.readyState, bystander.socket.OPEN)
})
