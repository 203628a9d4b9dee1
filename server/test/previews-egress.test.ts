import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import {
  addEgress,
  compactEgress,
  egressOf,
  repeatEgressForMs,
} from '../src/domain/previews/egress.ts'
import { Traffic } from '../src/gateway/traffic.ts'
import { newUlid } from '../src/ids.ts'
import { collide } from './forced-race.ts'
import { startTestServer } from './harness.ts'

/* Batches are compacted into one row per machine and hour; no byte is lost or counted twice. */

const server = await startTestServer({ after })
const { app } = server
const { db } = app
const one = await server.machine()
const other = await server.machine()
const { organizationId } = await server.user('member')
const hourMs = 3_600_000

test('rows older than an hour become one row per machine and hour, and whole hours stay exact', async () => {
  const hours = [-4, -3, -2, -1, 0, 1, 2].map(hourAt)
  for (const start of hours.slice(0, 3)) {
    for (const offset of [0, 1, hourMs / 2, hourMs - 1]) {
      await put(one, 1_000 + offset, new Date(start.getTime() + offset))
      await put(other, 7, new Date(start.getTime() + offset))
    }
  }
  await put(one, 11, null)
  await put(one, 13, new Date(Date.now() - hourMs / 2))
  const before = await sumsOf(hours)
  assert.ok(before.slice(0, 3).every((sum) => sum > 0n))
  assert.equal(
    await total(),
    before.reduce((sum, each) => sum + each),
  )

  await compactEgress(db)
  assert.deepEqual(await sumsOf(hours), before)
  assert.deepEqual(await countRows(), { hours: 6, batches: 2 })
  // A second run changes nothing, and late rows are added to their hour.
  await compactEgress(db)
  assert.deepEqual(await sumsOf(hours), before)
  await put(one, 5, new Date(hours[1]!.getTime() + 60_000))
  await compactEgress(db)
  before[1]! += 5n
  assert.deepEqual(await sumsOf(hours), before)
  assert.deepEqual(await countRows(), { hours: 6, batches: 2 })
})

test('hours do not depend on the time zone of the connection', async () => {
  await clear()
  const [start, end] = [hourAt(-3), hourAt(-2)]
  for (const zone of ['Asia/Kathmandu', 'America/St_Johns', 'UTC']) {
    await put(one, 1, start)
    await put(one, 1, new Date(end.getTime() - 1))
    await db.transaction().execute(async (tx) => {
      await sql`select set_config('timezone', ${zone}, true)`.execute(tx)
      await compactEgress(tx)
    })
  }
  assert.equal(await egressOf(db, organizationId, { start, end }), 6n)
  assert.deepEqual(await countRows(), { hours: 1, batches: 0 })
})

test('a second worker skips locked rows, and both add to the same hour', async () => {
  await clear()
  const at = hourAt(-3)
  for (let index = 0; index < 10; index++) await put(one, 100, at)
  await collide(
    db,
    async (tx) => {
      await compactEgress(tx)
      // Invisible to the first, whose own row for that hour is not committed either.
      await put(one, 23, at)
    },
    [() => compactEgress(db)],
  )
  assert.equal(await total(), 1_023n)
  assert.deepEqual(await countRows(), { hours: 1, batches: 0 })
})

test('a flush during the compaction succeeds, and its retry counts once', async () => {
  await clear()
  await put(one, 100, hourAt(-3))
  const batch = [{ machineId: one.id, organizationId, bytes: 9 }]
  const id = newUlid()
  await db.transaction().execute(async (tx) => {
    await compactEgress(tx)
    await addEgress(db, id, batch)
    assert.equal(await total(), 109n)
  })
  await compactEgress(db)
  await addEgress(db, id, batch)
  assert.equal(await total(), 109n)
  assert.deepEqual(await countRows(), { hours: 1, batches: 1 })
})

test('a batch that may have been compacted is not retried', async (t) => {
  await clear()
  await using traffic = new Traffic(app)
  const target = { machineId: one.id, organizationId }
  const served = (bytes: number) => traffic.countServed(target, bytes)
  served(50)
  await sql`alter table egress_counts rename to egress_away`.execute(db)
  await traffic.flush()
  served(3)
  await sql`alter table egress_away rename to egress_counts`.execute(db)
  const now = performance.now()
  t.mock.method(performance, 'now', () => now + repeatEgressForMs)
  await traffic.flush()
  assert.equal(await total(), 3n)
})

async function put({ id }: { readonly id: typeof one.id }, bytes: number, at: Date | null) {
  const flushId = newUlid()
  await addEgress(db, flushId, [{ machineId: id, organizationId, bytes }])
  if (!at) return
  await db
    .updateTable('egress_counts')
    .set({ counted_at: at })
    .where('flush_id', '=', flushId)
    .execute()
}

/** The start of the hour that is this many hours from now. */
function hourAt(offset: number): Date {
  return new Date((Math.floor(Date.now() / hourMs) + offset) * hourMs)
}

/** The bytes of each hour but the last. */
async function sumsOf(hours: readonly Date[]): Promise<bigint[]> {
  const windows = hours.slice(0, -1).map((start, index) => ({ start, end: hours[index + 1]! }))
  return Promise.all(windows.map((window) => egressOf(db, organizationId, window)))
}

function total(): Promise<bigint> {
  return egressOf(db, organizationId, { start: new Date(0), end: hourAt(2) })
}

async function countRows(): Promise<{ hours: number; batches: number }> {
  const rows = await db.selectFrom('egress_counts').select('flush_id').execute()
  const hours = rows.filter((row) => row.flush_id.startsWith('hour ')).length
  return { hours, batches: rows.length - hours }
}

async function clear(): Promise<void> {
  await db.deleteFrom('egress_counts').execute()
}
