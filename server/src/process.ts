import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pino, { type Logger } from 'pino'
import type { App } from './app.ts'
import { TtlCache } from './cache.ts'
import { guestDir, readConfig, type Config } from './config.ts'
import { Changes } from './db/changes.ts'
import { databaseOver, openPool, type Database } from './db/database.ts'
import { requireSchema } from './db/migrate.ts'
import { ActivityRecorder } from './domain/activity/recorder.ts'
import { createIncusDriver, type IncusOptions } from './drivers/incus/driver.ts'
import type { MachineDriver } from './drivers/machine-driver.ts'
import { findKnownHost } from './domain/hosts/hosts.ts'
import { proveTo } from './domain/secrets/host-proofs.ts'
import { defaultDataDir } from './environment.ts'
import { createGuestClient } from './guest/client.ts'
import { startScriptPath } from './host/engine-lxc.ts'
import { engineDirectory, engineSocketPath } from './host/engine.ts'
import { configuredDatabaseUrl } from './host/postgres.ts'
import { createPrincipalCache } from './http/principal-cache.ts'
import { openLog } from './log-file.ts'
import { measurePool } from './metrics/database-pool.ts'
import { measureDriver } from './metrics/driver.ts'
import { listenForMetrics, metricsPort, type Role } from './metrics/listener.ts'
import { createMetrics } from './metrics/metrics.ts'
import { createPayments } from './payments/payments.ts'
import { Hosts, type KnownHost } from './peers/hosts.ts'
import { timing } from './timing.ts'
import { traceDriver } from './trace/driver.ts'
import { startTracing } from './trace/provider.ts'

/** Starts one service of the server; the result stops it. */
export type Service = (app: App) => Promise<{ stop(): Promise<void> }>

/** Runs one service of the server as this process, from its configuration to a clean end. */
export async function runService(name: Role, service: Service): Promise<void> {
  const config = readConfig(process.env)
  const destination = openLog(config, name)
  const log = pino({ name, level: config.logLevel }, destination)
  process.on('uncaughtExceptionMonitor', (error) => {
    log.fatal({ err: error }, 'uncaught exception')
  })
  process.on('unhandledRejection', (error) => {
    log.fatal({ err: error }, 'unhandled promise rejection')
    process.exit(1)
  })
  const { host, collectorUrl } = config
  const spanLog = config.trace ? destination : null
  const tracing = await startTracing({ service: name, host, spanLog, collectorUrl, log })
  const app = await createApp(config, log).catch((error: unknown) => {
    log.fatal({ err: error }, 'could not start')
    process.exit(1)
  })
  const port = metricsPort(config, name)
  const listener = port === null ? null : await listenForMetrics(app, port)
  const { stop } = await service(app)
  log.info('up')

  const { promise: stopRequested, resolve } = Promise.withResolvers<void>()
  process.once('SIGTERM', resolve)
  process.once('SIGINT', resolve)
  await stopRequested
  endLate(log)
  await stop()
  await listener?.[Symbol.asyncDispose]()
  await closeApp(app)
  await tracing[Symbol.asyncDispose]()
  log.info('down')
  process.exit(0)
}

/** A process whose database or engine is away waits for it at its end, too, but not for ever. */
function endLate(log: Logger): void {
  const end = () => {
    log.warn('something did not end in time')
    process.exit(1)
  }
  setTimeout(end, endWithinMs).unref()
}

/** Before a supervisor's patience is over: ours has 15 seconds. */
const endWithinMs = 10_000

async function createApp(config: Config, log: Logger): Promise<App> {
  const url = configuredDatabaseUrl(config)
  const metrics = createMetrics()
  const pool = openPool(url, { log, maxConnections: config.databaseConnections })
  measurePool(metrics, pool)
  const db = databaseOver(pool)
  await requireSchema(db)
  const changes = new Changes({ db, databaseUrl: url, log })
  await changes.listen()
  const driver = traceDriver(measureDriver(await createDriver(config, log), metrics))
  const principals = createPrincipalCache(changes)
  const hosts = createHosts(config, db, driver)
  const guests = createGuestClient(hosts, { time: metrics.timeGuestCall })
  const payments = createPayments(config)
  const activity = new ActivityRecorder({ db, changes, log })
  const services = { principals, driver, hosts, guests, payments, activity, metrics }
  return { config, timing, db, changes, log, ...services }
}

async function closeApp(app: App): Promise<void> {
  await app.guests[Symbol.asyncDispose]()
  app.hosts[Symbol.dispose]()
  await app.driver[Symbol.asyncDispose]()
  await app.activity[Symbol.asyncDispose]()
  await app.changes[Symbol.asyncDispose]()
  await app.db.destroy()
}

/** The hosts of machines, as a process of this server on this host reaches them. */
export function createHosts(config: Config, db: Database, driver: MachineDriver): Hosts {
  const known = new TtlCache<KnownHost | null>()
  return new Hosts({
    own: config.host,
    driver,
    findHost: (host) => known.get(host, () => findKnownHost(db, host)),
    proofFor: (host) => proveTo(config.keyringPath, host),
  })
}

export async function createDriver(config: Config, log: Logger): Promise<MachineDriver> {
  return createIncusDriver(await readEngineOptions(config, log))
}

/** How the engine of this server is reached and used. */
export async function readEngineOptions(config: Config, log: Logger): Promise<IncusOptions> {
  const { dataDir, engine } = config
  const warn = (message: string, fields: Readonly<Record<string, unknown>>) =>
    log.warn(fields, message)
  const shared = {
    guestDir: guestDir(config),
    directAgents: config.directAgents,
    poolSource: config.poolSource ?? undefined,
    poolSizeGib: config.poolSizeGb ?? undefined,
    subnet: config.networkCidr ?? undefined,
    warn,
  }
  if (!engine) {
    return {
      ...shared,
      access: { socketPath: engineSocketPath(dataDir) },
      engineDir: engineDirectory(dataDir),
      network: networkName(dataDir),
    }
  }
  if ('dir' in engine) {
    return {
      ...shared,
      access: { socketPath: join(engine.dir, 'unix.socket') },
      engineDir: engine.dir,
      isShared: true,
      pool: engine.pool,
      // Members of a cluster have one list of projects.
      project: `computer-${config.host}`,
      startScript: startScriptPath(dataDir),
    }
  }
  const [certificate, key, serverCertificate] = await Promise.all([
    readFile(engine.cert, 'utf8'),
    readFile(engine.key, 'utf8'),
    engine.serverCert === null ? undefined : readFile(engine.serverCert, 'utf8'),
  ])
  const access = { url: engine.url, certificate, key, serverCertificate }
  return { ...shared, access }
}

/** A bridge per data folder, so that two servers on one host do not share one. */
export function networkName(dataDir: string): string {
  if (dataDir === defaultDataDir) return 'computer0'
  return `cmp${createHash('sha256').update(dataDir).digest('hex').slice(0, 10)}`
}
