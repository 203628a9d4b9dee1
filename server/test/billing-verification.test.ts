import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Readable } from 'node:stream'
import { sql } from 'kysely'
import { rollPeriods } from '../src/domain/accounts/periods.ts'
import { closePeriods } from '../src/domain/billing/closing.ts'
import { verifyPeriods } from '../src/domain/billing/verification.ts'
import { addEgress } from '../src/domain/previews/egress.ts'
import { runAdminCommand } from '../src/host/admin/commands.ts'
import { readRequest } from '../src/host/admin/request.ts'
import { endWait, monthStart, moveOpenPeriod } from './billing-clock.ts'
import { onDisksOf } from './disks.ts'
import { startTestServer } from './harness.ts'

const server = await startTestServer({ after })
const { db } = server.app
const disks = onDisksOf(server)
const { organizationId } = await server.user('member')

test('what is billed follows from the events, and a change of either is found', async () => {
  await live()
  await server.stopWorkers()
  await stretch()
  await moveOpenPeriod(db, organizationId, { start: monthStart(-1), end: monthStart(0) })
  await assertOpenIsVerified()
  await rollPeriods(db)
  assert.deepEqual(await verifyPeriods(db, organizationId), { periods: 1, differences: [] })
  await endWait(db, organizationId)
  await closePeriods(db)
  assert.deepEqual(await verifyPeriods(db, organizationId), { periods: 1, differences: [] })
  const { json } = await verify()
  assert.deepEqual(
    [(json as { periods: number }).periods, (json as { differences: number }).differences],
    [1, 0],
  )
  const used = await db
    .selectFrom('billing_lines')
    .selectAll()
    .where('quantity', '>', '0')
    .execute()
  assert.deepEqual(used.map(({ meter }) => meter).toSorted(), [
    'cold_storage_byte_seconds',
    'compute_small_seconds',
    'egress_bytes',
    'hot_storage_byte_seconds',
  ])

  const line = db.updateTable('billing_lines').where('meter', '=', 'compute_small_seconds')
  await line.set({ quantity: sql`quantity + 1`, billable: sql`billable + 1` }).execute()
  const { differences } = await verifyPeriods(db, organizationId)
  assert.deepEqual(
    differences.map(({ meter, field, billed, recomputed }) => [meter, field, billed - recomputed]),
    [
      ['compute_small_seconds', 'quantity', 1n],
      ['compute_small_seconds', 'billable', 1n],
    ],
  )
  await assert.rejects(
    verify(),
    /do not give what is billed:\n.*compute_small_seconds: quantity \d+/,
  )
})

async function assertOpenIsVerified(): Promise<void> {
  const verifyOpen = () => verifyPeriods(db, organizationId, { openUntil: monthStart(0) })
  assert.deepEqual(await verifyPeriods(db, organizationId), { periods: 0, differences: [] })
  assert.deepEqual(await verifyOpen(), { periods: 1, differences: [] })
  const disk = sql`where meter = 'hot_storage' and ended_at is not null`
  await sql`update meter_intervals set bytes = bytes + 1 ${disk}`.execute(db)
  const [difference] = (await verifyOpen()).differences
  assert.deepEqual(difference?.meter, 'hot_storage_byte_seconds')
  await sql`update meter_intervals set bytes = bytes - 1 ${disk}`.execute(db)
}

/** Makes each millisecond of all of it a second, from an hour before the end of last month on. */
async function stretch(): Promise<void> {
  const begin = new Date(monthStart(0).getTime() - 3_600_000)
  const { first } = await db
    .selectFrom('machine_events')
    .select(sql<Date>`min(occurred_at)`.as('first'))
    .executeTakeFirstOrThrow()
  const moved = (column: string) =>
    sql`${begin}::timestamptz + (${sql.ref(column)} - ${first}::timestamptz) * 1000`
  await sql`update machine_events set occurred_at = ${moved('occurred_at')}`.execute(db)
  await sql`update meter_intervals
    set started_at = ${moved('started_at')}, ended_at = ${moved('ended_at')}`.execute(db)
  await sql`update egress_counts set counted_at = ${begin}`.execute(db)
}

/** Machines that run, stop, have snapshots and are deleted. */
async function live(): Promise<void> {
  const first = await server.machine()
  const second = await server.machine()
  server.guest(first.id).disk.write('data', Buffer.alloc(1_000_000))
  const snapshot = await disks.snapshot(first.id)
  await addEgress(db, '1', [{ machineId: first.id, organizationId, bytes: 123 }])
  await disks.move(first.id, 'stop')
  await server.call('DELETE', `/v1/machines/${second.id}`)
  await server.call('DELETE', `/v1/snapshots/${snapshot.id}`)
  await disks.move(first.id, 'start')
}

function verify() {
  const operator = { type: 'operator', id: 'operator', name: 'root' } as const
  const request = readRequest(JSON.stringify({ command: 'billing verify', organizationId: null }))
  return runAdminCommand(server.app, operator, request, Readable.from([]))
}
