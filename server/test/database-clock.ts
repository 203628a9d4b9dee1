import { sql } from 'kysely'
import pino from 'pino'
import { openDatabase, type Database } from '../src/db/database.ts'

/*
 * A database with a clock that a test sets. The functions that the server's statements ask for the time
 * are looked up in a schema of the test before those of Postgres. Defaults of columns keep the real time.
 */

const clockFunctions = ['now', 'clock_timestamp', 'statement_timestamp', 'transaction_timestamp']

export type DatabaseClock = {
  /** Connections to the same database, for which it is the time that was set last. */
  readonly db: Database
  set(time: Date): Promise<void>
}

export async function openClockedDatabase(url: string, start: Date): Promise<DatabaseClock> {
  const clocked = new URL(url)
  clocked.searchParams.set('options', '-c search_path=test_clock,pg_catalog,public')
  const log = pino({ level: 'silent' })
  const db = openDatabase(clocked.href, { log, maxConnections: 4 })
  await sql`create schema test_clock`.execute(db)
  await sql`create table test_clock.clock (shows timestamptz not null)`.execute(db)
  await sql`insert into test_clock.clock values (${start})`.execute(db)
  for (const name of clockFunctions) {
    await sql`create function test_clock.${sql.id(name)}() returns timestamptz language sql stable
      as 'select shows from test_clock.clock'`.execute(db)
  }
  return {
    db,
    async set(time) {
      await sql`update test_clock.clock set shows = ${time}`.execute(db)
    },
  }
}
