import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { readConfig, type Config } from './config.ts'
import { withDatabase, type Database } from './db/database.ts'
import { migrate } from './db/migrate.ts'
import { findRefusal } from './domain/hosts/states.ts'
import { describe, diagnose, isHealthy } from './host/doctor/diagnose.ts'
import {
  buildGuestBundle,
  ensureKeyring,
  ensureOwnerKey,
  registerBuiltImage,
} from './host/first-start.ts'
import { offerFirstSignIn } from './host/first-sign-in.ts'
import { endLeftovers } from './host/leftovers.ts'
import { readOperator } from './host/operator.ts'
import { configuredDatabaseUrl } from './host/postgres.ts'
import { engineProgram, postgresProgram, serverPrograms } from './host/programs.ts'
import { lockDataDir, ServerRunsError } from './host/server-lock.ts'
import { withSettings } from './host/settings.ts'
import { watchStopSignals } from './host/stop-signals.ts'
import { Supervisor } from './host/supervisor.ts'
import { openTerminal, type Terminal } from './host/terminal.ts'
import { describeServer } from './host/welcome.ts'

/** `computer up`: runs the whole server on this host until it is stopped. */
const terminal = openTerminal()
try {
  await runServer(readConfig(withSettings(process.env)), terminal)
} catch (error) {
  terminal.say(`computer: ${(error as Error).message}`)
  const { cause } = error as Error
  if (cause && !(error instanceof ServerRunsError)) console.error(cause)
  process.exitCode = 1
}

async function runServer(config: Config, terminal: Terminal): Promise<void> {
  prepareDataDir(config.dataDir)
  const { baseUrl, dashboardUrl } = config
  using _ = lockDataDir(config.dataDir, { address: baseUrl, dashboardUrl })
  const supervisor = new Supervisor(
    { runDir: join(config.dataDir, 'run'), logDir: join(config.dataDir, 'logs') },
    terminal,
  )
  const stop = watchStopSignals(terminal, () => supervisor.kill())
  try {
    await start(config, supervisor, terminal, stop.signal)
    await stop.requested
  } catch (error) {
    if (!stop.signal.aborted) throw error
  } finally {
    await supervisor.stop()
    stop.dispose()
  }
  terminal.say('stopped; machines keep running (`computer down` stops them too)')
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
  if (!isHealthy(diagnoses))
    throw new Error('this host cannot run the server; fix the failed checks above and try again')

  const url = configuredDatabaseUrl(config)
  const log = pino({ level: 'warn' })
  if (config.databaseUrl === null) await supervisor.start([postgresProgram(config)], signal)
  await withDatabase(url, log, (db) => prepareServer(config, url, db, terminal))
  if (config.engine === null) await supervisor.start([engineProgram(config)], signal)
  await supervisor.start(serverPrograms(config, url), signal)
  const isTerminal = process.stdout.isTTY
  const firstSignIn = await withDatabase(url, log, (db) =>
    offerFirstSignIn({ db, config }, readOperator(), { isTerminal }),
  )
  terminal.say(describeServer(config, firstSignIn))
}

/** Makes what the services need at their start: schema, owner, image and agent. */
async function prepareServer(
  config: Config,
  url: string,
  db: Database,
  terminal: Terminal,
): Promise<void> {
  await migrate(url)
  const refusal = await findRefusal(db, config.host)
  if (refusal !== null) throw new Error(refusal)
  await ensureOwnerKey(db, config)
  const keyringProblem = await ensureKeyring(db, config)
  if (keyringProblem !== null) terminal.say(keyringProblem)
  if (!(await registerBuiltImage(db, config))) {
    terminal.say(
      'the machine image is out of date, so the previous one is used: run `npm run setup` to build it',
    )
  }
  await buildGuestBundle(config)
}

/** Machines' root folders are below it, so other users need access; its private folders have mode 0700. */
function prepareDataDir(dataDir: string): void {
  mkdirSync(dataDir, { recursive: true })
  chmodSync(dataDir, 0o711)
}
