import { CreateMachine } from '@computer/contract'
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { openDatabase } from '../src/db/database.ts'
import { renewClaims } from '../src/domain/claims.ts'
import { claimMail } from '../src/domain/accounts/mails.ts'
import { claimReleasedCaptures } from '../src/domain/disks/capture-work.ts'
import { createMachine } from '../src/domain/machines/creation.ts'
import { claimMachines } from '../src/domain/machines/work-queue.ts'
import { claimDeliveries } from '../src/domain/secrets/deliveries.ts'
import { newId } from '../src/ids.ts'
import { copyMachine } from './fleet.ts'
import { startTestServer } from './harness.ts'

/* Claims on connections whose planner may join with nested loops only. */

const rowsOfEach = 6
const server = await startTestServer({ after }, { worker: false, plan: 'startup' })
const db = openNestingDatabase()
const app = { ...server.app, db }
after(() => db.destroy())
await insertDueRows()

const queues = {
  machines: (limit: number) => claimMachines(app, randomUUID(), limit),
  captures: (limit: number) => claimReleasedCaptures(app, randomUUID(), limit),
  secret_deliveries: (limit: number) => claimDeliveries(app, randomUUID(), limit),
} as const

for (const [table, claim] of Object.entries(queues)) {
  test(`claims of ${table} take rows up to their limit, each row once`, async () => {
    assert.deepEqual(await claim(0), [])
    assert.deepEqual(await claim(-1), [])
    const claimed: string[] = []
    for (const limit of [1, 2, 1]) {
      const rows = await claim(limit)
      assert.equal(rows.length, limit)
      claimed.push(...rows.map(({ id }) => id))
    }
    assert.equal(new Set(claimed).size, 4)
    assert.equal((await claim(rowsOfEach)).length, rowsOfEach - 4)
    assert.deepEqual(await claim(rowsOfEach), [])
  })
}

test('a renewal waits for no row, and renews the others', async () => {
  const workerId = randomUUID()
  await sql`update machines set claimed_by = ${workerId}, claimed_until = now()`.execute(db)
  const ids = (await db.selectFrom('machines').select('id').execute()).map(({ id }) => id)
  const impatient = openTestDatabase({ lock_timeout: '1s' })
  after(() => impatient.destroy())

  await db.transaction().execute(async (tx) => {
    await tx.selectFrom('machines').select('id').where('id', '=', ids[2]!).forUpdate().execute()
    await renewClaims({ ...app, db: impatient }, 'machines', workerId, ids)
  })
  const renewed = await db
    .selectFrom('machines')
    .select('id')
    .where('claimed_until', '>', sql<Date>`now()`)
    .execute()
  assert.deepEqual(new Set(renewed.map(({ id }) => id)), new Set(ids.toSpliced(2, 1)))
})

test('a claim of mails takes one', async () => {
  assert.ok(await claimMail(db))
  const { rows } = await sql`select from mails where attempts = 1`.execute(db)
  assert.equal(rows.length, 1)
})

test('a claim of machines reads each machine at rest at most a few times', async () => {
  const atRest = 1_000
  const { id } = await db.selectFrom('machines').select('id').executeTakeFirstOrThrow()
  await copyMachine(db, { id, copies: atRest, name: 'rest' })
  await db.transaction().execute(async (tx) => {
    await claimMachines({ ...app, db: tx }, randomUUID(), 8)
    const { rows } = await sql<{ reads: number }>`
      select (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int as reads
      from pg_stat_xact_user_tables where relname = 'machines'
    `.execute(tx)
    assert.ok(rows[0]!.reads < 10 * atRest, `${rows[0]!.reads} reads`)
  })
})

/** The server's rows, with joins by nested loops that cache nothing. */
function openNestingDatabase() {
  const off = ['hashjoin', 'mergejoin', 'material', 'hashagg', 'sort', 'memoize']
  return openTestDatabase(Object.fromEntries(off.map((name) => [`enable_${name}`, 'off'])))
}

function openTestDatabase(settings: Record<string, string>) {
  const url = new URL(server.databaseUrl)
  const options = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`)
  url.searchParams.set('options', options.join(' '))
  return openDatabase(url.href, { log: server.app.log, maxConnections: 2 })
}

async function insertDueRows(): Promise<void> {
  const owner = await server.user('owner')
  for (let number = 0; number < rowsOfEach; number++) {
    await createMachine(server.app, owner, newId('mch'), CreateMachine.parse({}))
  }
  await sql`insert into captures
    (id, organization_id, machine_id, generation, image_id, disk_gb, state)
    select 'cap_' || substr(id, 5), organization_id, id, generation, image_id, disk_gb, 'deleting'
    from machines`.execute(db)
  // Running machines, which receive secrets, and whose desktop is not up yet.
  await sql`update machines set state = 'running'`.execute(db)
  await sql`insert into secret_deliveries (id, revision) select id, 1 from machines`.execute(db)
  await sql`insert into mails (id, recipient, subject, body)
    select number::text, 'a@example.com', '', '' from generate_series(1, ${rowsOfEach}) as number
  `.execute(db)
}
