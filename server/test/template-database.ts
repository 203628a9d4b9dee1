import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import pg from 'pg'
import { migrate } from '../src/db/migrate.ts'
import type { TestPostgres } from './postgres.ts'

/** Any constant works: files that share a server meet at this lock. */
const templateLock = 7_080_002

/**
 * A migrated database to clone, made by the first file that needs it on a server. Its name has the hash
 * of the migrations, so that a server which outlives a change of them makes another.
 */
export async function ensureTemplate(server: TestPostgres): Promise<string> {
  const name = `computer_template_${await hashMigrations()}`
  const client = new pg.Client({ connectionString: server.url('postgres') })
  await client.connect()
  try {
    await client.query('select pg_advisory_lock($1)', [templateLock])
    const { rows } = await client.query('select from pg_database where datname = $1', [name])
    if (rows.length === 0) await makeTemplate(server, client, name)
  } finally {
    await client.end()
  }
  return name
}

/** The template gets its name last, so an incomplete one is never cloned. */
async function makeTemplate(server: TestPostgres, client: pg.Client, name: string): Promise<void> {
  const unfinished = `${name}_${process.pid}`
  await server.createDatabase(unfinished)
  await migrate(server.url(unfinished))
  await client.query(`alter database ${unfinished} rename to ${name}`)
}

async function hashMigrations(): Promise<string> {
  const folder = new URL('../src/db/migrations/', import.meta.url)
  const hash = createHash('sha256')
  for (const file of (await readdir(folder)).sort())
    hash.update(await readFile(new URL(file, folder)))
  return hash.digest('hex').slice(0, 16)
}
