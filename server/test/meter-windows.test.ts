import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { usageOf, type UsageMeter } from '../src/domain/events/meter-intervals.ts'
import { startTestServer } from './harness.ts'

const server = await startTestServer({ after })
const { db } = server.app
const gibibyte = 2 ** 30

const origin = Date.UTC(2026, 0, 1)
const ms = fc.integer({ min: 0, max: 3_600_000 })
const wholeSecond = ms.map((at) => at - (at % 1000))
const time = fc.oneof(ms, wholeSecond).map((at) => new Date(origin + at))
const interval = fc
  .record({
    kind: fc.constantFrom('small', 'standard', 'large', 'hot_storage', 'cold_storage'),
    amount: fc.maxSafeNat(),
    times: fc.tuple(time, time).map(inOrder),
  })
  .map(({ kind, amount, times }) => {
    const isStorage = kind === 'hot_storage' || kind === 'cold_storage'
    return {
      meter: isStorage ? kind : ('compute' as const),
      size: isStorage ? null : kind,
      capture_id: null,
      bytes: isStorage ? amount : null,
      started_at: times[0]!,
      ended_at: times[1]!,
    }
  })
type Interval = typeof interval extends fc.Arbitrary<infer T> ? T : never

test('windows add up exactly, to the second and the byte', async () => {
  const { id, organizationId } = await machine()
  const intervals = fc.array(interval, { minLength: 1, maxLength: 20 })
  const edges = fc.array(time, { minLength: 2, maxLength: 12 }).map(inOrder)
  const property = fc.asyncProperty(intervals, edges, async (made, [start, ...rest]) => {
    await db.deleteFrom('meter_intervals').execute()
    const rows = made.map((row) => ({ ...row, organization_id: organizationId, machine_id: id }))
    await db.insertInto('meter_intervals').values(rows).execute()

    const end = rest.at(-1)!
    const whole = await usageOf(db, organizationId, { start: start!, end })
    assert.deepEqual(sorted(whole), sorted(countSeconds(made, start!, end)))

    const parts = new Map<UsageMeter, bigint>()
    for (const [index, edge] of rest.entries()) {
      const from = rest[index - 1] ?? start!
      const part = await usageOf(db, organizationId, { start: from, end: edge })
      for (const [meter, sum] of part) parts.set(meter, (parts.get(meter) ?? 0n) + sum)
    }
    assert.deepEqual(sorted(parts), sorted(whole))

    for (const [meter, sum] of whole) {
      const alone = await usageOf(db, organizationId, { start: start!, end, meter })
      assert.deepEqual([...alone], [[meter, sum]])
    }
  })
  await fc.assert(property, { numRuns: 60 })
})

test('an open interval counts until now, and only for its organization', async () => {
  const stranger = await server.user('owner', 'stranger')
  const { id, organizationId } = await machine()
  const [start, end] = [new Date(Date.now() - 3_600_000), new Date(Date.now() + 3_600_000)]
  await db
    .updateTable('meter_intervals')
    .set({ started_at: start })
    .where('machine_id', '=', id)
    .execute()
  const used = await usageOf(db, organizationId, { start, end, meter: 'hot_storage_byte_seconds' })
  const seconds = Number(used.get('hot_storage_byte_seconds')! / BigInt(10 * gibibyte))
  assert.ok(seconds >= 3600 && seconds < 3660)
  assert.equal((await usageOf(db, stranger.organizationId, { start, end })).size, 0)
})

/** A machine whose meter intervals the test writes. */
async function machine() {
  const { id } = await server.machine({ start: false })
  const row = await db
    .selectFrom('machines')
    .select('organization_id')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return { id, organizationId: row.organization_id }
}

/** The definition: every whole second that begins in both the interval and the window. */
function countSeconds(intervals: readonly Interval[], start: Date, end: Date) {
  const sums = new Map<string, bigint>()
  for (const { meter, size, bytes, started_at: from, ended_at: to } of intervals) {
    const name = size ? `compute_${size}_seconds` : `${meter}_byte_seconds`
    let seconds = 0n
    for (let tick = Math.ceil(Number(start) / 1000) * 1000; tick < Number(end); tick += 1000) {
      if (tick >= Number(from) && tick < Number(to)) seconds += 1n
    }
    const sum = (sums.get(name) ?? 0n) + seconds * BigInt(bytes ?? 1)
    if (sum > 0n) sums.set(name, sum)
  }
  return sums
}

function sorted(sums: ReadonlyMap<string, bigint>): [string, bigint][] {
  return [...sums].toSorted(([a], [b]) => a.localeCompare(b))
}

function inOrder(times: readonly Date[]): Date[] {
  return times.toSorted((a, b) => Number(a) - Number(b))
}
