import { pino } from 'pino'
import { readConfig } from './config.ts'
import { withDatabase } from './db/database.ts'
import { prepareDataDir, requireWholeRestore } from './host/data-folder.ts'
import { prepareDatabase } from './host/preparation.ts'
import { configuredDatabaseUrl } from './host/postgres.ts'
import { withSettings } from './host/settings.ts'
import { openTerminal } from './host/terminal.ts'

/** `computer migrate`: brings the database to the schema of this version, while an older one may go on using it. */
const terminal = openTerminal()
try {
  const config = readConfig(withSettings(process.env))
  const url = configuredDatabaseUrl(config)
  requireWholeRestore(config.dataDir)
  prepareDataDir(config.dataDir)
  await withDatabase(url, pino({ level: 'warn' }), (db) =>
    prepareDatabase(config, url, db, terminal),
  )
  terminal.say('the database has the schema of this version')
} catch (error) {
  terminal.say(`computer: ${describe(error as Error)}`)
  process.exitCode = 1
}

function describe({ message, cause }: Error): string {
  return cause instanceof Error ? `${message}: ${cause.message}` : message
}
