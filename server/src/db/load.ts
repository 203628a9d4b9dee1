import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type { DumpedSequence, DumpedTable } from './dump.ts'
import { listMigrations, migrate } from './migrate.ts'

/** A database as dump.ts has read it. */
export type Dump = {
  readonly migrations: readonly string[]
  readonly tables: readonly DumpedTable[]
  readonly sequences: readonly DumpedSequence[]
}

/** Throws if the database has a table, with what to do. */
export async function requireEmptyDatabase(databaseUrl: string): Promise<void> {
  const tables = await withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ tables: number }>(`
      select count(*)::int as tables from pg_class
      where relkind in ('r', 'p') and relnamespace = current_schema()::regnamespace`)
    return rows[0]!.tables
  })
  if (tables > 0)
    throw new Error(
      `the database has ${tables} tables already: name an empty database in DATABASE_URL`,
    )
}

/** Throws if this version does not know the schema of the dump. */
export async function requireKnownSchema(migrations: readonly string[]): Promise<void> {
  const known = new Set(await listMigrations())
  const unknown = migrations.find((name) => !known.has(name))
  if (unknown === undefined) return
  throw new Error(
    `the backup was made by a newer version of Computer, whose database has ${unknown}: restore it with that version`,
  )
}

/**
 * Fills an empty database: with the schema that the dump was made of, then with its rows, in one transaction, and
 * then with the migrations since. Foreign keys are checked once all rows are there, and triggers see none of them.
 */
export async function loadDump(
  databaseUrl: string,
  dump: Dump,
  read: (table: DumpedTable) => Promise<Readable>,
): Promise<void> {
  await requireEmptyDatabase(databaseUrl)
  await requireKnownSchema(dump.migrations)
  await migrate(databaseUrl, { only: new Set(dump.migrations) })
  await withClient(databaseUrl, async (client) => {
    const name = (text: string) => client.escapeIdentifier(text)
    const tables = dump.tables.map((table) => name(table.name))
    await client.query('begin')
    const keys = await dropForeignKeys(client)
    // Migrations insert rows too.
    await client.query(`truncate ${tables.join(', ')}`)
    for (const table of tables) await client.query(`alter table ${table} disable trigger user`)
    for (const table of dump.tables) {
      const columns = table.columns.map(name).join(', ')
      const into = client.query(copyFrom(`copy ${name(table.name)} (${columns}) from stdin`))
      await pipeline(await read(table), into)
    }
    for (const table of tables) await client.query(`alter table ${table} enable trigger user`)
    for (const key of keys) await client.query(key)
    for (const { name: sequence, last, isCalled } of dump.sequences) {
      await client.query('select setval($1::regclass, $2, $3)', [name(sequence), last, isCalled])
    }
    await client.query('commit')
    await client.query('analyze')
  })
  await migrate(databaseUrl)
}

/** Returns the statements that make them again. */
async function dropForeignKeys(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ table: string; key: string; definition: string }>(`
    select conrelid::regclass::text as table, conname as key, pg_get_constraintdef(oid) as definition
    from pg_constraint
    where contype = 'f' and connamespace = current_schema()::regnamespace order by conname`)
  for (const { table, key } of rows) {
    await client.query(`alter table ${table} drop constraint ${client.escapeIdentifier(key)}`)
  }
  return rows.map(
    ({ table, key, definition }) =>
      `alter table ${table} add constraint ${client.escapeIdentifier(key)} ${definition}`,
  )
}

async function withClient<T>(
  databaseUrl: string,
  use: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl })
  client.on('error', () => {})
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}
