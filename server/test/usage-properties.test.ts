import type { MachineId, Meter, OrganizationId } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { sql } from 'kysely'
import { billingCases } from '../../scripts/soak/sizes.ts'
import { readUsage } from '../src/domain/billing/summary.ts'
import { listUsage } from '../src/domain/billing/usage-records.ts'
import { sumBuckets } from '../src/domain/billing/usage-series.ts'
import { newId } from '../src/ids.ts'
import { startTestServer } from './harness.ts'

/* Whatever is asked for, records, series and parts of a period add up to what its summary counts. */

const server = await startTestServer({ after })
const { db } = server.app
const machines = [await server.machine({ start: false }), await server.machine({ start: false })]
const { organization_id: organizationId } = await db
  .selectFrom('machines')
  .select('organization_id')
  .executeTakeFirstOrThrow()
const actor = { organizationId }

const origin = Date.UTC(2026, 0, 1)
const hourMs = 3_600_000
const month = { start: new Date(origin), end: new Date(Date.UTC(2026, 1, 1)) }

/** Near boundaries of hours, within some days of the month, or anywhere in it. */
const ms = fc.oneof(
  fc
    .tuple(fc.integer({ min: 0, max: 744 }), fc.integer({ min: -1_500, max: 1_500 }))
    .map(([hour, offset]) => Math.max(0, hour * hourMs + offset)),
  fc.integer({ min: 0, max: 5 * 24 * hourMs }),
  fc.integer({ min: 0, max: 31 * 24 * hourMs }),
)
const time = ms.map((at) => new Date(origin + at))
const machineId = fc.constantFrom(...machines.map(({ id }) => id))
const interval = fc
  .record({
    machineId,
    kind: fc.constantFrom('small', 'standard', 'large', 'hot_storage', 'cold_storage'),
    bytes: fc.oneof(fc.nat({ max: 1_000 }), fc.maxSafeNat()),
    times: fc.tuple(time, time).map(inOrder),
  })
  .map(({ machineId: machine_id, kind, bytes, times }) => {
    const isStorage = kind.endsWith('_storage')
    return {
      machine_id,
      organization_id: organizationId,
      meter: (isStorage ? kind : 'compute') as 'compute',
      size: isStorage ? null : (kind as 'small'),
      capture_id: null,
      bytes: isStorage ? bytes : null,
      started_at: times[0]!,
      ended_at: times[1]!,
    }
  })
const egress = fc.record({ machineId, bytes: fc.integer({ min: 1, max: 2 ** 50 }), at: time })
const facts = fc.record({
  intervals: fc.array(interval, { maxLength: 12 }),
  egress: fc.array(egress, { maxLength: 6 }),
})
type Facts = typeof facts extends fc.Arbitrary<infer T> ? T : never

test('the sum of a series is the summary, for any width of the buckets and any cuts', async () => {
  const width = fc.oneof(fc.constantFrom(3_600, 86_400), fc.integer({ min: 3_600, max: 200_000 }))
  // Compacted egress has hours, so windows that cut an hour do not cut its bytes.
  const cut = fc.tuple(time, time).map(([a, b]) => inOrder([wholeHour(a), wholeHour(b)]))
  await check(fc.tuple(facts, width, cut), async ([made, bucketSeconds, [start, end]]) => {
    await replaceFacts(made)
    const window = { start: start!, end: new Date(end!.getTime() + hourMs) }
    const points = await sumBuckets(db, organizationId, window, bucketSeconds)
    const sums = new Map<Meter, bigint>()
    for (const { start: bucket, meter, quantity } of points) {
      assert.equal(bucket.getTime() % (bucketSeconds * 1_000), 0)
      assert.notEqual(quantity, '0')
      add(sums, meter, BigInt(quantity))
    }
    assert.deepEqual(sorted(sums), await usedIn(window))
  })
})

test('a period that is split at any hours counts the same as a whole', async () => {
  const cuts = fc.array(fc.integer({ min: 1, max: 743 }), { maxLength: 4 })
  await check(fc.tuple(facts, cuts), async ([made, hours]) => {
    await replaceFacts(made)
    const edges = [...new Set(hours)].toSorted((a, b) => a - b)
    const times = [0, ...edges, 744].map((hour) => new Date(origin + hour * hourMs))
    const sums = new Map<Meter, bigint>()
    for (const [index, end] of times.slice(1).entries()) {
      for (const [meter, used] of await usedIn({ start: times[index]!, end }))
        add(sums, meter, used)
    }
    assert.deepEqual(sorted(sums), await usedIn(month))
  })
})

test('the records of all pages add up to the summary, in order and once each', async () => {
  const page = fc.record({ limit: fc.integer({ min: 1, max: 7 }), isGrouped: fc.boolean() })
  await check(
    fc.tuple(facts, page),
    async ([made, { limit, isGrouped }]) => {
      await replaceFacts(made)
      const sums = new Map<Meter, bigint>()
      const query = {
        limit,
        start: month.start.toISOString(),
        end: month.end.toISOString(),
        ...(isGrouped && { group_by: 'machine' as const }),
      }
      const seen: string[] = []
      let cursor: string | undefined
      do {
        const { data, next_cursor } = await listUsage(db, actor, { ...query, cursor })
        for (const { meter, machine_id, quantity, start, end } of data) {
          assert.ok(start < end)
          add(sums, meter, BigInt(quantity))
          seen.push(isGrouped ? `${machine_id} ${meter}` : start.toISOString())
        }
        cursor = next_cursor ?? undefined
      } while (cursor !== undefined)
      assert.deepEqual(sorted(sums), await usedIn(month))
      if (isGrouped) assert.equal(new Set(seen).size, seen.length)
      else assert.deepEqual(seen, seen.toSorted().toReversed())
    },
    0.3,
  )
})

async function usedIn(window: { readonly start: Date; readonly end: Date }) {
  const usage = await readUsage(db, organizationId, {
    starts_at: window.start,
    ends_at: window.end,
  })
  return sorted(usage)
}

async function replaceFacts({ intervals, egress: counts }: Facts): Promise<void> {
  await sql`delete from meter_intervals`.execute(db)
  await sql`delete from egress_counts`.execute(db)
  if (intervals.length > 0) await db.insertInto('meter_intervals').values(intervals).execute()
  if (counts.length === 0) return
  const rows = counts.map(({ machineId: machine_id, bytes, at }) => ({
    flush_id: newId('evt'),
    machine_id: machine_id as MachineId,
    organization_id: organizationId as OrganizationId,
    bytes,
    counted_at: at,
  }))
  await db.insertInto('egress_counts').values(rows).execute()
}

async function check<T>(
  arbitrary: fc.Arbitrary<T>,
  predicate: (value: T) => Promise<void>,
  share = 1,
): Promise<void> {
  await fc.assert(fc.asyncProperty(arbitrary, predicate), billingCases(share))
}

function add(sums: Map<Meter, bigint>, meter: Meter, quantity: bigint): void {
  sums.set(meter, (sums.get(meter) ?? 0n) + quantity)
}

/** Meters that were used. */
function sorted(sums: ReadonlyMap<Meter, bigint>): [Meter, bigint][] {
  const used = [...sums].filter(([, sum]) => sum > 0n)
  return used.toSorted(([a], [b]) => a.localeCompare(b))
}

function wholeHour(at: Date): Date {
  return new Date(Math.floor(at.getTime() / hourMs) * hourMs)
}

function inOrder(times: readonly Date[]): Date[] {
  return times.toSorted((a, b) => Number(a) - Number(b))
}
