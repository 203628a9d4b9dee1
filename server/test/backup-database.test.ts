import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { Readable } from 'node:stream'
import { after, test } from 'node:test'
import pg from 'pg'
import { openMoment, type DumpedTable } from '../src/db/dump.ts'
import { loadDump, requireKnownSchema, type Dump } from '../src/db/load.ts'
import { migrate } from '../src/db/migrate.ts'
import { startTestServer } from './harness.ts'
import { startTestPostgres } from './postgres.ts'

/* The dump of a populated database, and what becomes of it in an empty one. */

const server = await startTestServer({ after }, { plan: 'startup' })
const postgres = await startTestPostgres()
after(() => postgres.stop())

test('every table, sequence and constraint is the same in a database that the dump was loaded into', async (t) => {
  await populate()
  const { dump, files } = await dumpAll()
  assert.ok(dump.tables.length > 50)
  const url = await emptyDatabase(t)
  await loadDump(url, dump, async ({ name }) => Readable.from([files.get(name)!]))

  const copy = await dumpAll(url)
  assert.deepEqual(copy.dump, dump)
  for (const [name, bytes] of files) {
    assert.deepEqual(copy.files.get(name)!.toString(), bytes.toString(), name)
  }
  const [before, now] = [await connect(t, server.databaseUrl), await connect(t, url)]
  for (const facts of [constraints, triggers]) {
    assert.deepEqual((await now.query(facts)).rows, (await before.query(facts)).rows)
  }
})

test('what is inserted afterwards gets the next numbers, and foreign keys and triggers hold', async (t) => {
  const { dump, files } = await dumpAll()
  const url = await emptyDatabase(t)
  await loadDump(url, dump, async ({ name }) => Readable.from([files.get(name)!]))
  const now = await connect(t, url)
  const { rows } = await now.query<{ highest: string; next: string }>(`
    select coalesce(max(id), 0)::text as highest,
      nextval(pg_get_serial_sequence('billing_periods', 'id'))::text as next from billing_periods`)
  assert.ok(Number(rows[0]!.next) > Number(rows[0]!.highest))
  const orphan = `insert into snapshots (id, organization_id, machine_id, capture_id, name, origin)
    values ('snp_none', 'org_none', 'mch_none', 'cap_none', 'none', 'manual')`
  await assert.rejects(now.query(orphan), { code: '23503' })
  const { rows: disabled } = await now.query(
    `select tgname from pg_trigger where not tgisinternal and tgenabled <> 'O'`,
  )
  assert.deepEqual(disabled, [])
})

test('a dump has nothing of what was written after its moment', async () => {
  const moment = await openMoment(server.databaseUrl)
  const { id } = await server.machine()
  const table = moment.tables.find(({ name }) => name === 'machines')!
  const bytes = await buffer(moment.readTable(table))
  await moment[Symbol.asyncDispose]()
  assert.ok(!bytes.includes(id))
})

test('a dump whose rows do not fit together leaves the database without any', async (t) => {
  const { dump, files } = await dumpAll()
  const url = await emptyDatabase(t)
  const withoutUsers = async ({ name }: DumpedTable) =>
    Readable.from(name === 'users' ? [] : [files.get(name)!])
  await assert.rejects(loadDump(url, dump, withoutUsers), { code: '23503' })
  const now = await connect(t, url)
  assert.deepEqual((await now.query('select from machines')).rowCount, 0)
})

test('a database with tables, and a schema of a newer version, are refused', async (t) => {
  const { dump } = await dumpAll()
  const url = await emptyDatabase(t)
  await migrate(url)
  const nothing = async () => Readable.from([])
  await assert.rejects(loadDump(url, dump, nothing), /has \d+ tables already: name an empty/)
  await assert.rejects(requireKnownSchema([...dump.migrations, '9999-later.sql']), /newer version/)
})

test('a dump of an earlier schema is loaded into it and then migrated', async (t) => {
  const url = await emptyDatabase(t)
  const all = (await dumpAll()).dump.migrations
  await migrate(url, { only: new Set(all.slice(0, -1)) })
  const { dump, files } = await dumpAll(url)
  assert.equal(dump.migrations.length, all.length - 1)
  const target = await emptyDatabase(t)
  await loadDump(target, dump, async ({ name }) => Readable.from([files.get(name)!]))
  assert.deepEqual((await dumpAll(target)).dump.migrations, all)
})

/** Rows in many tables, with text that COPY has to escape. */
async function populate(): Promise<void> {
  const { id } = await server.machine()
  const calls = [
    ['PATCH', `/v1/machines/${id}`, { metadata: { odd: 'tab\t back\\slash\n\\N é' } }],
    ['POST', '/v1/snapshots', { machine_id: id, name: 'one' }],
    ['PUT', `/v1/machines/${id}/secrets`, { name: 'TOKEN', value: 'hidden' }],
  ] as const
  for (const [method, path, body] of calls) {
    const { status } = await server.call(method, path, body)
    assert.ok(status < 300, `${method} ${path}: ${status}`)
  }
}

async function dumpAll(
  url = server.databaseUrl,
): Promise<{ dump: Dump; files: ReadonlyMap<string, Buffer> }> {
  await using moment = await openMoment(url)
  const files = new Map<string, Buffer>()
  for (const table of moment.tables) files.set(table.name, await buffer(moment.readTable(table)))
  const { migrations, tables } = moment
  return { dump: { migrations, tables, sequences: await moment.readSequences() }, files }
}

type Ending = { after(end: () => Promise<void>): void }

async function emptyDatabase(t: Ending): Promise<string> {
  const name = `backup_${randomBytes(6).toString('hex')}`
  await postgres.createDatabase(name)
  t.after(() => postgres.dropDatabase(name))
  return postgres.url(name)
}

async function connect(t: Ending, connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString })
  client.on('error', () => {})
  await client.connect()
  t.after(() => client.end())
  return client
}

const constraints = `select conrelid::regclass::text as of, conname, pg_get_constraintdef(oid) as text
  from pg_constraint where connamespace = 'public'::regnamespace order by 1, 2`
const triggers = `select tgname, tgenabled from pg_trigger where not tgisinternal order by 1`
