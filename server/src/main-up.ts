import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { readConfig, type Config } from './config.ts'
import { openDatabase } from './db/database.ts'
import { migrate } from './db/migrate.ts'
import { describe, diagnose, isHealthy } from './host/doctor/diagnose.ts'
import {
  buildGuestBundle,
  ensureKeyring,
  ensureOwnerKey,
  ownerKeyPath,
  registerBuiltImage,
} from './host/first-start.ts'
import { endLeftovers } from './host/leftovers.ts'
import { databaseUrl } from './host/postgres.ts'
import { engineProgram, postgresProgram, serverPrograms } from './host/programs.ts'
import { lockDataDir, ServerRunsError } from './host/server-lock.ts'
import { watchStopSignals } from './host/stop-signals.ts'
import { Supervisor } from './host/supervisor.ts'
import { openTerminal, type Terminal } from './host/terminal.ts'

/** What `computer up` runs: the whole server on this host, until it is told to stop. */
const terminal = openTerminal()
try {
  await runServer(readConfig(process.env), terminal)
} catch (error) {
  terminal.say(`computer: ${(error as Error).message}`)
  const { cause } = error as Error
  if (cause && !(error instanceof ServerRunsError)) console.error(cause)
  process.exitCode = 1
}

async function runServer(config: Config, terminal: Terminal): Promise<void> {
  prepareDataDir(config.dataDir)
  using _ = lockDataDir(config.dataDir, config.baseUrl)
  const supervisor = new Supervisor(
    { runDir: join(config.dataDir, 'run'), logDir: join(config.dataDir, 'logs') },
    terminal,
  )
  const stop = watchStopSignals(terminal, () => supervisor.kill())
  try {
    await start(config, supervisor, terminal, stop.signal)
    await stop.asked
  } catch (error) {
    if (!stop.signal.aborted) throw error
  } finally {
    await supervisor.stop()
    stop.dispose()
  }
  terminal.say('stopped; machines run on (`computer down` stops them too)')
}

async function start(
  config: Config,
  supervisor: Supervisor,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<void> {
  await endLeftovers(config.dataDir, terminal)
  const diagnoses = await diagnose(config, { quickOnly: true })
  for (const diagnosis of diagnoses) {
    if (diagnosis.status !== 'ok') terminal.say(describe(diagnosis))
  }
  if (!isHealthy(diagnoses)) throw new Error('this host cannot run the server as it is')

  const url = config.databaseUrl ?? databaseUrl(config.dataDir)
  if (config.databaseUrl === null) await supervisor.start([postgresProgram(config)], signal)
  await prepareServer(config, url, terminal)
  if (config.engine === null) await supervisor.start([engineProgram(config)], signal)
  await supervisor.start(serverPrograms(config, url), signal)
  sayWelcome(config, terminal)
}

/** What has to be there before a service looks: schema, owner, image and agent. */
async function prepareServer(config: Config, url: string, terminal: Terminal): Promise<void> {
  await migrate(url)
  const log = pino({ level: 'warn' })
  const db = openDatabase(url, { log, maxConnections: 1 })
  try {
    await ensureOwnerKey(db, config)
    const withoutKeyring = await ensureKeyring(db, config)
    if (withoutKeyring !== null) terminal.say(withoutKeyring)
    if (!(await registerBuiltImage(db, config))) {
      terminal.say(
        'the image of this recipe is not built, so the last one is used: run `npm run setup`',
      )
    }
  } finally {
    await db.destroy()
  }
  await buildGuestBundle(config)
}

/** Machines' root folders lie below, so everybody may pass through; what is private in it is 0700. */
function prepareDataDir(dataDir: string): void {
  mkdirSync(dataDir, { recursive: true })
  chmodSync(dataDir, 0o711)
}

function sayWelcome(config: Config, terminal: Terminal): void {
  const key = ownerKeyPath(config.dataDir)
  const authorization = `-H "authorization: Bearer $(cat ${key})"`
  terminal.say(`
Computer runs at ${config.baseUrl} (reference: ${config.baseUrl}/docs)
  first API key  ${key}${describePreviews(config)}
  logs           ${join(config.dataDir, 'logs')}

Make a computer, then look at its screen:
  curl -X POST ${config.baseUrl}/v1/machines ${authorization} -H 'content-type: application/json' -d '{"name":"first"}'
  curl -o screen.png ${config.baseUrl}/v1/machines/MACHINE_ID/screenshot ${authorization} -H 'accept: image/png'

Ctrl-C stops the server and leaves machines running.`)
}

function describePreviews({ previews, dataDir }: Config): string {
  if (!previews) return ''
  const port = previews.publicPort === 443 ? '' : `:${previews.publicPort}`
  const authority = join(dataDir, 'previews', 'authority.crt')
  const trust = previews.tls.by === 'authority' ? ` (browsers must trust ${authority})` : ''
  return `\n  previews       https://*.${previews.domain}${port}${trust}`
}
