import { readdir, readFile } from 'node:fs/promises'
import pg from 'pg'

const folder = new URL('./migrations/', import.meta.url)
/** Any constant works, as long as all servers use the same. */
const advisoryLock = 7_080_001

/**
 * Brings a database to the newest schema: numbered SQL files, forward only, each once and in one
 * transaction with its record. Safe to call from several servers at once.
 */
export async function migrate(databaseUrl: string): Promise<void> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort()
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    await client.query('select pg_advisory_lock($1)', [advisoryLock])
    await client.query(
      'create table if not exists migrations (name text primary key, applied_at timestamptz not null default now())',
    )
    const { rows } = await client.query<{ name: string }>('select name from migrations')
    const applied = new Set(rows.map((row) => row.name))
    for (const name of files) {
      if (!applied.has(name)) await applyMigration(client, name)
    }
  } finally {
    await client.end()
  }
}

async function applyMigration(client: pg.Client, name: string): Promise<void> {
  const statements = await readFile(new URL(name, folder), 'utf8')
  try {
    await client.query('begin')
    await client.query(statements)
    await client.query('insert into migrations (name) values ($1)', [name])
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw new Error(`migration ${name} failed`, { cause: error })
  }
}
