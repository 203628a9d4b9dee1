import { readdir, readFile } from 'node:fs/promises'
import { sql } from 'kysely'
import pg from 'pg'
import type { Database } from './database.ts'
import { isUndefinedTable } from './errors.ts'

const folder = new URL('./migrations/', import.meta.url)
/** Any constant works, as long as all servers use the same. */
const advisoryLock = 7_080_001

/**
 * Brings a database to the newest schema: numbered SQL files, forward only, each once and in one
 * transaction with its record. Safe to call from several servers at once. With `only`, other files are left out.
 */
export async function migrate(
  databaseUrl: string,
  { only }: { readonly only?: ReadonlySet<string> } = {},
): Promise<void> {
  const files = (await listMigrations()).filter((file) => only?.has(file) ?? true)
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

/**
 * Rejects, with what to do, if the database lacks a migration of this version. A newer database is none of our
 * business: a migration leaves what the version before it uses.
 */
export async function requireSchema(db: Database): Promise<void> {
  const { rows } = await sql<{ name: string }>`select name from migrations`
    .execute(db)
    .catch((error: unknown) => {
      if (isUndefinedTable(error)) return { rows: [] }
      throw error
    })
  const applied = new Set(rows.map((row) => row.name))
  const missing = (await listMigrations()).filter((name) => !applied.has(name))
  if (missing.length === 0) return
  throw new Error(
    `the database has the schema of an older version and lacks ${missing.join(', ')}: run \`computer migrate\``,
  )
}

export async function listMigrations(): Promise<readonly string[]> {
  return (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort()
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
