import type { Readable } from 'node:stream'
import pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'

/*
 * A database as one file for each table, because the embedded Postgres has no pg_dump: what COPY writes, in the text
 * format, of all columns that are not computed from others. load.ts reads it back.
 */

export type DumpedTable = { readonly name: string; readonly columns: readonly string[] }
/** As the text of a bigint, which a number may not hold. */
export type DumpedSequence = {
  readonly name: string
  readonly last: string
  readonly isCalled: boolean
}

/** One moment of a database. All is read as it was then. */
export type Moment = AsyncDisposable & {
  /** Its name, with which other transactions read the same moment until this one is disposed of. */
  readonly snapshot: string
  readonly migrations: readonly string[]
  readonly tables: readonly DumpedTable[]
  /** At least as far as at that moment: sequences do not go back. */
  readSequences(): Promise<readonly DumpedSequence[]>
  /** One table at a time. */
  readTable(table: DumpedTable): Readable
}

/** Opens the present moment of a database. */
export async function openMoment(databaseUrl: string): Promise<Moment> {
  const client = new pg.Client({ connectionString: databaseUrl })
  client.on('error', () => {})
  await client.connect()
  const name = (text: string) => client.escapeIdentifier(text)
  try {
    await client.query('begin transaction isolation level repeatable read, read only')
    const { rows } = await client.query<{ snapshot: string }>(
      'select pg_export_snapshot() as snapshot',
    )
    return {
      snapshot: rows[0]!.snapshot,
      migrations: await readMigrations(client),
      tables: await listTables(client),
      readSequences: () => readSequences(client),
      readTable: ({ name: table, columns }) =>
        client.query(copyTo(`copy ${name(table)} (${columns.map(name).join(', ')}) to stdout`)),
      [Symbol.asyncDispose]: () => client.end(),
    }
  } catch (error) {
    await client.end()
    throw error
  }
}

async function readMigrations(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>('select name from migrations order by name')
  return rows.map((row) => row.name)
}

async function listTables(client: pg.Client): Promise<DumpedTable[]> {
  const { rows } = await client.query<DumpedTable>(`
    select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
      and not a.attisdropped and a.attgenerated = ''
    where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace
    group by c.relname order by c.relname`)
  return rows
}

async function readSequences(client: pg.Client): Promise<DumpedSequence[]> {
  const { rows } = await client.query<{ name: string }>(`
    select c.relname as name from pg_class c
    where c.relkind = 'S' and c.relnamespace = current_schema()::regnamespace order by c.relname`)
  const sequences: DumpedSequence[] = []
  for (const { name } of rows) {
    const { rows: values } = await client.query<Omit<DumpedSequence, 'name'>>(
      `select last_value::text as last, is_called as "isCalled" from ${client.escapeIdentifier(name)}`,
    )
    sequences.push({ name, ...values[0]! })
  }
  return sequences
}
