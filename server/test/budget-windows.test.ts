import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { sql } from 'kysely'
import { windowEnd, windowStart } from '../src/domain/budgets/windows.ts'
import { startTestServer } from './harness.ts'

/* The boundaries of windows, whatever the time zone of the database's session is. */

const server = await startTestServer({ after }, { worker: false })
const { db } = server.app
const dayMs = 86_400_000

const cases: readonly [window: string, at: string, start: string, end: string][] = [
  ['day', '2028-02-28T23:59:59.999Z', '2028-02-28', '2028-02-29'],
  ['day', '2028-02-29T00:00:00.000Z', '2028-02-29', '2028-03-01'],
  ['day', '2027-02-28T12:00:00.000Z', '2027-02-28', '2027-03-01'],
  ['day', '2026-12-31T23:59:59.999Z', '2026-12-31', '2027-01-01'],
  // A week of 2026 that ends in 2027, and one that begins in 2024 and is the first of 2025.
  ['week', '2026-12-31T12:00:00.000Z', '2026-12-28', '2027-01-04'],
  ['week', '2027-01-03T23:59:59.999Z', '2026-12-28', '2027-01-04'],
  ['week', '2027-01-04T00:00:00.000Z', '2027-01-04', '2027-01-11'],
  ['week', '2024-12-30T00:00:00.000Z', '2024-12-30', '2025-01-06'],
  ['week', '2028-02-29T06:00:00.000Z', '2028-02-28', '2028-03-06'],
  // A Sunday belongs to the week of the Monday before it.
  ['week', '2026-11-29T23:00:00.000Z', '2026-11-23', '2026-11-30'],
  ['month', '2028-02-29T23:59:59.999Z', '2028-02-01', '2028-03-01'],
  ['month', '2100-02-28T00:00:00.000Z', '2100-02-01', '2100-03-01'],
  ['month', '2026-12-31T23:59:59.999Z', '2026-12-01', '2027-01-01'],
  ['month', '2027-01-01T00:00:00.000Z', '2027-01-01', '2027-02-01'],
]

test('days, ISO weeks and months begin and end in UTC, over leap days and the end of a year', async () => {
  for (const zone of ['UTC', 'America/New_York', 'Pacific/Kiritimati', 'Europe/Berlin']) {
    for (const [window, at, start, end] of cases) {
      const found = await windowAt(window, new Date(at), zone)
      const expected = [start, end].map((day) => new Date(day).toISOString())
      assert.deepEqual(found, expected, `${window} ${at} in ${zone}`)
    }
  }
})

test('every time is in exactly one window of its kind, and windows have no gaps', async () => {
  const times = fc.sample(fc.integer({ min: Date.UTC(2024, 0), max: Date.UTC(2064, 0) }), {
    numRuns: 200,
    seed: 7,
  })
  for (const window of ['day', 'week', 'month']) {
    for (const at of times) {
      const [start, end] = await windowAt(window, new Date(at))
      const [from, to] = [Date.parse(start!), Date.parse(end!)]
      assert.ok(from <= at && at < to)
      assert.deepEqual(await windowAt(window, new Date(to - 1)), [start, end])
      assert.equal((await windowAt(window, new Date(to)))[0], end)
      if (window === 'week') {
        assert.equal(to - from, 7 * dayMs)
        assert.equal(new Date(from).getUTCDay(), 1)
      }
      assert.equal(from % dayMs, 0)
    }
  }
})

test('a window of once begins with its budget and never ends', async () => {
  assert.deepEqual(await windowAt('once', new Date('2030-01-01')), [created, null])
})

const created = '2026-03-04T05:06:07.089Z'

async function windowAt(window: string, at: Date, zone = 'UTC'): Promise<(string | null)[]> {
  return db.transaction().execute(async (tx) => {
    await sql`select set_config('timezone', ${zone}, true)`.execute(tx)
    const time = sql`${at}::timestamptz`
    const { rows } = await sql<{ start: Date; end: Date | null }>`
      select ${windowStart(time)} as start, ${windowEnd(time)} as end
      from (select ${window}::text as "window", ${created}::timestamptz as created_at) as b`.execute(
      tx,
    )
    const { start, end } = rows[0]!
    return [start.toISOString(), end?.toISOString() ?? null]
  })
}
