import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { createApi } from '../src/api/server.ts'
import { Changes } from '../src/db/changes.ts'
import { openDatabase } from '../src/db/database.ts'
import { newId } from '../src/ids.ts'
import { createPrincipalCache, type Principal } from '../src/http/principal-cache.ts'
import { addColleague, membershipOf } from './colleague.ts'
import { startTestServer, type TestServer } from './harness.ts'
import { eventually } from './settled.ts'

test('a revoked key is refused at once by the process that revoked it', async (t) => {
  const server = await startTestServer(t, { worker: false })
  const key = await server.apiKey()
  assert.equal((await key.call('GET', '/v1/machines')).status, 200)
  await revoke(server, key.id)
  assert.equal((await key.call('GET', '/v1/machines')).status, 401)
})

test('another process refuses a revoked key as soon as it is notified', async (t) => {
  const server = await startTestServer(t, { worker: false })
  const elsewhere = await startProcess(t, server)
  const key = await server.apiKey()
  assert.equal(await elsewhere.statusFor(key.secret), 200)
  await revoke(server, key.id)
  await eventually(async () => (await elsewhere.statusFor(key.secret)) === 401 || undefined)
})

test('another process refuses a revoked key after 900 ms even if the notification is lost', async (t) => {
  const server = await startTestServer(t, { worker: false })
  const clock = { ms: 0 }
  const elsewhere = await startProcess(t, server, { clock, isDeaf: true })
  const creator = await addColleague(server, await server.user('owner'), 'admin')
  const revoked = await server.apiKey()
  const ofRemoved = await server.apiKey({ creator })
  for (const { secret } of [revoked, ofRemoved]) {
    assert.equal(await elsewhere.statusFor(secret), 200)
  }
  await revoke(server, revoked.id)
  const owner = server.as(await server.user('owner'))
  const removal = await owner('DELETE', `/v1/members/${await membershipOf(server, creator)}`)
  assert.equal(removal.status, 204)

  clock.ms += 899
  assert.equal(await elsewhere.statusFor(revoked.secret), 200)
  clock.ms += 1
  for (const { secret } of [revoked, ofRemoved]) {
    assert.equal(await elsewhere.statusFor(secret), 401)
  }
})

test('a lookup that raced a revocation is repeated for its callers', async () => {
  const published: unknown[] = []
  const cache = createPrincipalCache({
    ...deaf,
    publish: (...args) => void published.push(args),
  })
  const lookUps: PromiseWithResolvers<Principal>[] = []
  const find = () =>
    cache.find('a credential', () => {
      const lookUp = Promise.withResolvers<Principal>()
      lookUps.push(lookUp)
      return lookUp.promise
    })
  const [before, beside] = [find(), find()]
  assert.equal(lookUps.length, 1)
  cache.invalidate()
  assert.deepEqual(published, [['any', 'principals']])
  const after = find()
  lookUps[0]!.resolve(somebody)
  lookUps[1]!.reject(new Error('revoked'))
  for (const found of [before, beside, after]) await assert.rejects(found, /revoked/)
  assert.equal(lookUps.length, 2)
})

const somebody: Principal = {
  organizationId: newId('org'),
  principal: { type: 'user', id: newId('usr'), name: 'Somebody' },
  userId: newId('usr'),
  authSessionId: null,
  role: 'member',
  scopes: null,
  permissions: new Set(),
}

/** Revoked by a person, because no key may manage keys. */
async function revoke(server: TestServer, id: string): Promise<void> {
  const owner = server.as(await server.user('owner'))
  assert.equal((await owner('DELETE', `/v1/api-keys/${id}`)).status, 200)
}

/** Neither sends nor receives notifications. */
const deaf = { publish() {}, subscribe: () => () => false }

/** The API as a second process over the same database, with a stopped clock. */
async function startProcess(
  t: TestContext,
  server: TestServer,
  options: { readonly clock?: { ms: number }; readonly isDeaf?: boolean } = {},
) {
  const { clock = { ms: 0 }, isDeaf = false } = options
  const { log } = server.app
  const db = openDatabase(server.databaseUrl, { log, maxConnections: 2 })
  const changes = new Changes({ db, databaseUrl: server.databaseUrl, log })
  await changes.listen()
  const principals = createPrincipalCache(isDeaf ? deaf : changes, () => clock.ms)
  const http = createApi({ ...server.app, db, changes, principals })
  t.after(async () => {
    await http.close()
    await changes[Symbol.asyncDispose]()
    await db.destroy()
  })
  return {
    async statusFor(secret: string): Promise<number> {
      const headers = { authorization: `Bearer ${secret}` }
      return (await http.inject({ url: '/v1/machines', headers })).statusCode
    },
  }
}
