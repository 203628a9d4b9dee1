import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { startTestServer } from './harness.ts'
import { eventually } from './settled.ts'

test('a connection that dies between two statements fails its transaction and nothing else', async (t) => {
  const { db } = (await startTestServer(t, { worker: false })).app
  const broken = db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx)
    const { pid } = rows[0]!
    await sql`select pg_terminate_backend(${pid})`.execute(db)
    // The connection has no query in flight when it ends.
    await eventually(async () => {
      const { rows: alive } = await sql`select from pg_stat_activity where pid = ${pid}`.execute(db)
      return alive.length === 0 || undefined
    })
    await sql`select 1`.execute(tx)
  })
  await assert.rejects(broken)
  const { rows } = await sql<{ one: number }>`select 1 as one`.execute(db)
  assert.deepEqual(rows, [{ one: 1 }])
})
