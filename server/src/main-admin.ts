import { pino } from 'pino'
import { readConfig } from './config.ts'
import { Changes } from './db/changes.ts'
import { openDatabase } from './db/database.ts'
import { isUndefinedTable } from './db/errors.ts'
import { findDatabaseDelay } from './db/readiness.ts'
import { runAdminCommand } from './host/admin/commands.ts'
import { readRequest, type AdminAnswer, type AdminRequest } from './host/admin/request.ts'
import { readOperator } from './host/operator.ts'
import { configuredDatabaseUrl } from './host/postgres.ts'
import { withSettings } from './host/settings.ts'

/*
 * `computer admin …`: runs one command on the database of a server, which may be running.
 * Exit code 0: done; 1: refused; 2: the database does not respond.
 */
const [request = '', format] = process.argv.slice(2)
try {
  process.exitCode = await main(readRequest(request))
} catch (error) {
  printError(isUndefinedTable(error) ? 'the database is empty; start the server first' : error)
  process.exitCode = 1
}

async function main(request: AdminRequest): Promise<number> {
  const config = readConfig(withSettings(process.env))
  const url = configuredDatabaseUrl(config)
  const reason = await findDatabaseDelay(url)
  if (reason !== null) {
    printError(
      config.databaseUrl === null
        ? `the database in ${config.dataDir} does not respond (${reason}); start the server first: computer up`
        : `the database of DATABASE_URL does not respond: ${reason}`,
    )
    return 2
  }
  const log = pino({ level: 'silent' })
  const db = openDatabase(url, { log, maxConnections: 2 })
  try {
    await using changes = new Changes({ db, databaseUrl: url, log })
    const answer = await runAdminCommand(
      { db, config, changes },
      readOperator(),
      request,
      process.stdin,
    )
    if (!/(list|status)$/.test(request.command)) changes.publish('any', 'principals')
    print(answer)
    return 0
  } finally {
    await db.destroy()
  }
}

function print({ json, text }: AdminAnswer): void {
  console.log(format === '--json' ? JSON.stringify(json, null, 2) : text)
}

function printError(error: unknown): void {
  console.error(`computer: ${error instanceof Error ? error.message : error}`)
}
