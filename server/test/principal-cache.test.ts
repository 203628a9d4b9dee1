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

test('another process refuses it as soon as it gets the hint', async (t) => {
  const server = await startTestServer(t, { worker: false })
  const elsewhere = await startProcess(t, server)
  const key = await server.apiKey()
  assert.equal(await elsewhere.statusFor(key.secret), 200)
  await revoke(server, key.id)
  await eventually(async () => (await elsewhere.statusFor(key.secret)) === 401 || undefined)
})

test('another process refuses it after 900 ms even if the hint is lost', async (t) => {
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

test('calls at once share one look, and later ones what it found', async () => {
  const { looks, find } = setUp()
  const both = [find(), find()]
  looks[0]!.resolve(somebody)
  assert.deepEqual(await Promise.all(both), [somebody, somebody])
  assert.equal(await find(), somebody)
  assert.equal(looks.length, 1)
})

test('a look that raced a revocation is not kept', async () => {
  const { cache, looks, find } = setUp()
  const before = find()
  cache.invalidate()
  const after = find()
  looks[0]!.resolve(somebody)
  assert.equal(await before, somebody)
  looks[1]!.reject(new Error('revoked'))
  await assert.rejects(after, /revoked/)
  assert.equal(looks.length, 2)
})

test('a refusal is not kept', async () => {
  const { looks, find } = setUp()
  const refused = find()
  looks[0]!.reject(new Error('unknown'))
  await assert.rejects(refused, /unknown/)
  const made = find()
  looks[1]!.resolve(somebody)
  assert.equal(await made, somebody)
})

test('a look counts from its beginning, however slow it is', async () => {
  const { clock, looks, find } = setUp()
  const slow = find()
  clock.ms += 900
  looks[0]!.resolve(somebody)
  await slow
  void find()
  assert.equal(looks.length, 2)
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

/** By a person: no key may manage keys. */
async function revoke(server: TestServer, id: string): Promise<void> {
  const owner = server.as(await server.user('owner'))
  assert.equal((await owner('DELETE', `/v1/api-keys/${id}`)).status, 200)
}

/** A cache whose clock stands still and whose looks end when the test says so. */
function setUp() {
  const clock = { ms: 0 }
  const looks: PromiseWithResolvers<Principal>[] = []
  const cache = createPrincipalCache(deaf, () => clock.ms)
  const find = () =>
    cache.find('a credential', () => {
      const look = Promise.withResolvers<Principal>()
      looks.push(look)
      return look.promise
    })
  return { cache, clock, looks, find }
}

/** Nobody hears it, and it hears nobody. */
const deaf = { publish() {}, subscribe: () => () => false }

/** The API as one more process over the same database, with a clock that stands still. */
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
