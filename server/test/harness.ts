import { ApiKeyScope, endpoints, type MachineId, type Role } from '@computer/contract'
import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import pino from 'pino'
import type { Actor } from '../src/actor.ts'
import { createApi } from '../src/api/server.ts'
import type { App } from '../src/app.ts'
import { readConfig } from '../src/config.ts'
import { Changes } from '../src/db/changes.ts'
import { databaseOver, openPool } from '../src/db/database.ts'
import { insertApiKey, findByKey } from '../src/domain/accounts/api-keys.ts'
import { openAuthSession } from '../src/domain/accounts/auth-sessions.ts'
import { findKnownHost } from '../src/domain/hosts/hosts.ts'
import { openAccount } from '../src/domain/accounts/periods.ts'
import { ActivityRecorder } from '../src/domain/activity/recorder.ts'
import { ensureOwner } from '../src/domain/operator/bootstrap.ts'
import { registerImage } from '../src/domain/disks/images.ts'
import type { MachineDriver } from '../src/drivers/machine-driver.ts'
import { createFakeEngine } from './fake-engine/engine.ts'
import type { GuestChannelOptions } from '../src/guest/channels.ts'
import { createGuestClient } from '../src/guest/client.ts'
import { newId } from '../src/ids.ts'
import { proveTo } from '../src/domain/secrets/host-proofs.ts'
import { createPrincipalCache } from '../src/http/principal-cache.ts'
import { measurePool } from '../src/metrics/database-pool.ts'
import { measureDriver } from '../src/metrics/driver.ts'
import { createMetrics } from '../src/metrics/metrics.ts'
import { createPayments } from '../src/payments/payments.ts'
import { Hosts } from '../src/peers/hosts.ts'
import type { Timing } from '../src/timing.ts'
import { runWorker } from '../src/worker/loop.ts'
import { signUp } from './browser.ts'
import { callWith, type Answer, type Call } from './call.ts'
import { givePlan } from './plans.ts'
import { startTestPostgres, type TestPostgres } from './postgres.ts'
import { keyringPath, makeFolder, testImage } from './process-files.ts'
import { ensureTemplate } from './template-database.ts'
import { testTiming, timingOfOneHost } from './timing.ts'

export type { Answer, Call }
export type TestServer = Awaited<ReturnType<typeof startTestServer>>
/** The owner of a server, which ends with it: a test, or the whole file with `{ after }` of node:test. */
export type Lifetime = { after(end: () => void | Promise<void>): void }

let postgres: ReturnType<typeof startMigratedPostgres> | undefined

/** Machines of the fake engine boot in no time, so their agents are connected to as often. */
const anyNumber = { most: 1_000, withinMs: 1_000 }

/** A whole server over the fake engine with a database of its own, ended with the test. */
export async function startTestServer(
  t: Lifetime,
  options: {
    readonly worker?: boolean
    readonly guests?: GuestChannelOptions
    readonly plan?: string
    /** To the database: as many calls as that can be in a transaction at the same time. */
    readonly connections?: number
    /** Times that the test depends on. */
    readonly timing?: Partial<Timing>
    /** Hosts beside that of the server, each with an engine and a worker of its own. */
    readonly otherHosts?: readonly string[]
    /** Settings that differ from the defaults. */
    readonly env?: Readonly<Record<string, string>>
    /** Changes the new database before anything connects to it. */
    readonly prepare?: (databaseUrl: string) => Promise<void>
  } = {},
) {
  postgres ??= startMigratedPostgres()
  const server = await postgres
  const name = `test_${randomBytes(6).toString('hex')}`
  await server.createDatabase(name)
  const url = server.url(name)
  await options.prepare?.(url)

  const log = pino({ level: process.env['COMPUTER_LOG_LEVEL'] ?? 'silent' })
  const env = {
    ...previewEnv,
    COMPUTER_SECRETS_KEYRING: await keyringPath(),
    COMPUTER_WARM_MACHINES: '0',
    ...options.env,
  }
  const config = readConfig({ COMPUTER_DATA: '/nonexistent', ...env })
  const metrics = createMetrics()
  const pool = openPool(url, { log, maxConnections: options.connections ?? 12 })
  measurePool(metrics, pool)
  const db = databaseOver(pool)
  const changes = new Changes({ db, databaseUrl: url, log })
  await changes.listen()
  const engine = createFakeEngine()
  const driver = measureDriver(engine.driver(), metrics)
  const others = new Map(options.otherHosts?.map((name) => [name, createFakeEngine()]))
  const seenFrom = (own: string, ownDriver: MachineDriver) =>
    new Hosts({
      own,
      driver: ownDriver,
      findHost: (host) => findKnownHost(db, host),
      proofFor: (host) => proveTo(config.keyringPath, host),
    })
  const hosts = seenFrom(config.host, driver)
  const guests = createGuestClient(hosts, {
    openings: anyNumber,
    time: metrics.timeGuestCall,
    ...options.guests,
  })
  const principals = createPrincipalCache(changes)
  // A poll of the pool of warm machines takes six statements, and most servers keep no machine warm.
  const isPoolless = env.COMPUTER_WARM_MACHINES === '0'
  const timing = {
    ...testTiming,
    ...(isPoolless && { warmPollMs: 2_000 }),
    ...(options.otherHosts === undefined && timingOfOneHost),
    ...options.timing,
  }
  const payments = createPayments(config)
  const activity = new ActivityRecorder({ db, changes, log })
  const services = { principals, driver, hosts, guests, payments, activity, metrics }
  const app: App = { config, timing, db, changes, log, ...services }

  const imageId = await registerImage(db, config.host, await testImage())
  const { key } = await ensureOwner(db)
  if (options.plan) await givePlan(db, { planId: options.plan })
  const http = createApi(app)

  const ofSeveral = others.size > 0 && {
    hostAddress: { address: '127.0.0.1', port: 0 },
    dataDir: await makeFolder('data'),
  }
  const startWorker = (through: App['driver'] = driver, host = config.host) => {
    const stopping = new AbortController()
    const ofHost = {
      ...app,
      config: { ...config, host, ...ofSeveral },
      driver: through,
      hosts: seenFrom(host, through),
    }
    const working = runWorker(ofHost, stopping.signal)
    const stop = () => {
      stopping.abort()
      return working
    }
    workers.push(stop)
    return { stop }
  }
  const stopWorkers = () => Promise.all(workers.splice(0).map((stop) => stop()))
  const workers: (() => Promise<void>)[] = []
  const startOther = (host: string) => startWorker(others.get(host)!.driver(), host)
  if (options.worker !== false) {
    startWorker()
    for (const host of others.keys()) startOther(host)
  }
  t.after(async () => {
    await stopWorkers()
    await http.close()
    await guests[Symbol.asyncDispose]()
    hosts[Symbol.dispose]()
    await activity[Symbol.asyncDispose]()
    await changes[Symbol.asyncDispose]()
    await db.destroy()
    for (const one of [engine, ...others.values()]) await one[Symbol.asyncDispose]()
    await server.dropDatabase(name)
  })

  const call = callWith(http, bearer(key!))

  return {
    app,
    databaseUrl: url,
    engine,
    /** The engine of another host. */
    engineOf: (host: string) => others.get(host)!,
    http,
    imageId,
    call,
    /** Starts another worker, over an engine that the test may choose; `stop` waits for its work. */
    startWorker,
    /** Starts the worker of another host. */
    startOther,
    stopWorkers,
    key: key!,
    /** Creates a machine through the API and waits until it is at rest. */
    async machine(input: Record<string, unknown> = {}) {
      const answer = await call('POST', '/v1/machines', input)
      if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
      return answer.body as { id: MachineId; name: string; state: string }
    },
    /** A session and its lease on a machine. */
    async lease(machineId: string, input: Record<string, unknown> = {}) {
      const session = await call('POST', '/v1/sessions', { machine_id: machineId })
      const lease = await call('POST', `/v1/machines/${machineId}/input-lease`, {
        session_id: session.body.id,
        ...input,
      })
      if (lease.status !== 200) throw new Error(JSON.stringify(lease.body))
      return { sessionId: session.body.id as string, fence: lease.body.fence as number }
    },
    /** Another API over the same rows, for a caller that the test chooses. */
    as: (actor: Actor) => callAs(t, app, actor),
    /** The same API without a credential other than those the test sends. */
    anonymous: callWith(http, {}),
    /** A user who signed up, with a browser that sends their cookie. */
    signUp: (input: Parameters<typeof signUp>[1] = {}) => signUp(http, input),
    /** Another API over the same rows without any cached state, as after a restart. */
    again() {
      const other = createApi(app)
      t.after(() => other.close())
      return other
    },
    /** A new API key, created by the owner of the first key unless the test names a creator. */
    async apiKey(keyOptions: KeyOptions = {}) {
      const row = await createKey(app, key!, keyOptions)
      return { id: row.id, secret: row.secret, call: callWith(http, bearer(row.secret)) }
    },
    /** The guest of a running machine, seen from inside. */
    guest: (id: string) => engine.controls.guest({ id: id as MachineId, generation: 1 }),
    /** The API on a port of its own, for tests that need real sockets. */
    async listen(ownPort = 0): Promise<URL> {
      await http.listen({ host: '127.0.0.1', port: ownPort })
      const { port } = http.server.address() as AddressInfo
      return new URL(`http://127.0.0.1:${port}`)
    },
    /** A user of an organization: the owner's own, or a new one. */
    async user(role: Role, where: 'same' | 'stranger' = 'same'): Promise<Actor> {
      return createUser(app, role, where)
    },
  }
}

export { endpoints }

const previewEnv = {
  COMPUTER_PREVIEW_DOMAIN: 'preview.test',
  COMPUTER_PREVIEW_PUBLIC_PORT: '443',
  COMPUTER_PREVIEW_CERT: '/nonexistent/cert.pem',
  COMPUTER_PREVIEW_KEY: '/nonexistent/key.pem',
}

/** A Postgres whose new databases are clones of a migrated one. */
async function startMigratedPostgres(): Promise<Omit<TestPostgres, 'stop'>> {
  const server = await startTestPostgres()
  try {
    const template = await ensureTemplate(server)
    return { ...server, createDatabase: (name) => server.createDatabase(name, template) }
  } catch (error) {
    await server.stop()
    throw error
  }
}

async function createUser(app: App, role: Role, where: 'same' | 'stranger'): Promise<Actor> {
  const userId = newId('usr')
  const email = `${userId}@example.com`
  await app.db.insertInto('users').values({ id: userId, email, name: 'Somebody' }).execute()
  const home = await app.db.selectFrom('organizations').select('id').executeTakeFirstOrThrow()
  const organizationId = where === 'same' ? home.id : newId('org')
  if (where === 'stranger') {
    await app.db.transaction().execute(async (tx) => {
      const organization = { id: organizationId, name: 'Strangers' }
      await tx.insertInto('organizations').values(organization).execute()
      await openAccount(tx, organizationId, 'startup')
    })
  }
  const membership = { organization_id: organizationId, user_id: userId, role }
  await app.db
    .insertInto('memberships')
    .values({ id: newId('mem'), ...membership })
    .execute()
  const caller = { address: null, userAgent: null }
  const { actor } = await app.db
    .transaction()
    .execute((tx) => openAuthSession(tx, caller, userId, organizationId))
  return actor
}

function callAs(t: Lifetime, app: App, actor: Actor): Call {
  const http = createApi(app, { authenticate: async () => actor })
  t.after(() => http.close())
  return callWith(http, {})
}

type KeyOptions = {
  readonly name?: string
  readonly scopes?: readonly ApiKeyScope[]
  readonly creator?: Pick<Actor, 'organizationId' | 'userId'>
}

async function createKey(app: App, ownerKey: string, options: KeyOptions) {
  const { name = 'A key', scopes = ApiKeyScope.options } = options
  const owner = await findByKey(app.db, ownerKey)
  const creator = options.creator ?? {
    organizationId: owner.organization_id,
    userId: owner.created_by,
  }
  return insertApiKey(app.db, creator, newId('key'), { name, scopes })
}

function bearer(secret: string): Record<string, string> {
  return { authorization: `Bearer ${secret}` }
}
