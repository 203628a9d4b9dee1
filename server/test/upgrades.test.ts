import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { columnsOf, tables } from '../src/db/columns.ts'
import { runCommand } from './admin-process.ts'
import { makeFolder } from './process-files.ts'
import { startTestServer } from './harness.ts'

/* Versions of the server that use one database at the same time. */

test('the known columns of each table are those that the migrations make', async (t) => {
  const { app } = await startTestServer(t, { worker: false })
  const { rows } = await sql<{ table: string; names: string[] }>`
    select table_name as table, array_agg(column_name::text order by column_name) as names
    from information_schema.columns
    where table_schema = current_schema() and table_name <> 'migrations'
    group by table_name order by table_name`.execute(app.db)
  const known = tables.map((table) => ({ table, names: columnsOf(table)!.toSorted() }))
  assert.deepEqual(known, rows)
})

test('a statement whose result has another type is prepared again', async (t) => {
  const { app } = await startTestServer(t, { worker: false, connections: 1 })
  await sql`create table things (size integer)`.execute(app.db)
  const read = () => sql`select * from things where ${1}::integer = 1`.execute(app.db)
  await read()
  await sql`alter table things add column color text`.execute(app.db)
  await assert.rejects(read(), /cached plan must not change result type/)
  await read()
})

test('a process of a newer version refuses a database that was not migrated', async (t) => {
  const { databaseUrl, app } = await startTestServer(t, { worker: false })
  const { rows } = await sql<{ name: string }>`
    delete from migrations where name = (select max(name) from migrations) returning name`.execute(
    app.db,
  )
  for (const role of ['api', 'gateway']) {
    const { code, stdout } = await runCommand(databaseUrl, 'role', role, {
      env: { COMPUTER_DATA: await makeFolder('role') },
    })
    assert.equal(code, 1, stdout)
    assert.match(stdout, new RegExp(`lacks ${rows[0]!.name}: run .computer migrate.`))
  }
})
