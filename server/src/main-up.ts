import { join } from 'node:path'
import { pino } from 'pino'
import { readConfig, type Config } from './config.ts'
import { withDatabase } from './db/database.ts'
import { requireWholeRestore, prepareDataDir } from './host/data-folder.ts'
import { requireHealthyHost } from './host/doctor/diagnose.ts'
import { offerFirstSignIn } from './host/first-sign-in.ts'
import { endLeftovers } from './host/leftovers.ts'
import { readOperator } from './host/operator.ts'
import { configuredDatabaseUrl } from './host/postgres.ts'
import { prepareDatabase, prepareHost } from './host/preparation.ts'
import { engineProgram, postgresProgram, serverPrograms } from './host/programs.ts'
import { lockDataDir, ServerRunsError } from './host/server-lock.ts'
import { withSettings } from './host/settings.ts'
import { watchStopSignals } from './host/stop-signals.ts'
import { Supervisor } from './host/supervisor.ts'
import { openTerminal, type Terminal } from './host/terminal.ts'
import { describeServer } from './host/welcome.ts'

/** `computer up`: runs the whole server on this host until it is stopped. */
let terminal = openTerminal()
try {
  const config = readConfig(withSettings(process.env))
  // The standard output has the lines of the services alone.
  if (config.logs === 'stdout') terminal = openTerminal(process.stderr)
  await runServer(config, terminal)
} catch (error) {
  terminal.say(`computer: ${(error as Error).message}`)
  const { cause } = error as Error
  if (cause && !(error instanceof ServerRunsError)) console.error(cause)
  process.exitCode = 1
}

async function runServer(config: Config, terminal: Terminal): Promise<void> {
  requireWholeRestore(config.dataDir)
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
  await requireHealthyHost(config, terminal)

  const url = configuredDatabaseUrl(config)
  const log = pino({ level: 'warn' })
  if (config.databaseUrl === null) await supervisor.start([postgresProgram(config)], signal)
  await withDatabase(url, log, async (db) => {
    await prepareDatabase(config, url, db, terminal)
    await prepareHost(config, db, terminal)
  })
  if (config.engine === null) await supervisor.start([engineProgram(config)], signal)
  await supervisor.start(serverPrograms(config, url), signal)
  const isTerminal = process.stdout.isTTY
  const firstSignIn = await withDatabase(url, log, (db) =>
    offerFirstSignIn({ db, config }, readOperator(), { isTerminal }),
  )
  terminal.say(describeServer(config, firstSignIn))
}
