import { sql } from 'kysely'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { Database } from './database.ts'

/** Resolves when the server answers a query; rejects with the last reason when it is given up. */
export async function waitReady(url: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    const reason = await findDatabaseDelay(url)
    if (reason === null) return
    if (signal.aborted) throw new Error(`the database does not answer: ${reason}`)
    await delay(25)
  }
}

/** Why the server does not answer a query yet; null when it does. */
export async function findDatabaseDelay(url: string): Promise<string | null> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('select 1')
    return null
  } catch (error) {
    return (error as Error).message
  } finally {
    await client.end().catch(() => {})
  }
}

/** Rejects when the database of a process that runs does not answer a query. */
export async function pingDatabase(db: Database): Promise<void> {
  await sql`select 1`.execute(db)
}
