import type { MachineId, Meter, OrganizationId } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { sql } from 'kysely'
import { tryProperty } from '../../scripts/soak/properties.ts'
import type { PeriodRow } from '../src/db/database.ts'
import { readUsage, summarize } from '../src/domain/billing/summary.ts'
import { listUsage } from '../src/domain/billing/usage-records.ts'
import { sumBuckets } from '../src/domain/billing/usage-series.ts'
import { endOfMonth, secondsBetween, startOfMonth } from '../src/domain/calendar.ts'
import type { RatedLine } from '../src/domain/rating.ts'
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

test('the same use has the same price in every month, whole or in part', async () => {
  const start = fc.constantFrom(
    '2027-02-01',
    '2028-02-01',
    '2100-02-01',
    '2028-04-01',
    '2028-12-01',
    '2029-01-01',
  )
  const whole = fc.constant(null)
  // Hours of a part, which begins a day after the month.
  const part = fc.integer({ min: 1, max: 27 * 24 })
  const used = facts.filter(({ intervals }) => intervals.some(({ meter }) => meter === 'compute'))
  await check(fc.tuple(used, start, start, fc.oneof(whole, part)), async ([made, a, b, hours]) => {
    const bills = []
    for (const month of [a, b]) {
      await replaceFacts(moveFacts(made, Date.parse(month) - origin))
      const { lines, credits, period } = await summarize(db, periodIn(month, hours))
      const seconds = secondsBetween(startOfMonth(period.starts_at), endOfMonth(period.starts_at))
      const length = secondsBetween(period.starts_at, period.ends_at)
      assert.equal(credits.included, (120n * 3_600_000n * length) / seconds)
      bills.push({ seconds, lines, total: lines.reduce((sum, line) => sum + line.amountCents, 0n) })
    }
    const [one, other] = bills
    // A part of a longer month is a smaller share of it, and includes less.
    if (hours === null || one!.seconds === other!.seconds) {
      assert.deepEqual(one!.lines, other!.lines)
      return
    }
    assert.deepEqual(one!.lines.map(quantityOf), other!.lines.map(quantityOf))
    const [shorter, longer] = bills.toSorted((x, y) => Number(x.seconds - y.seconds))
    assert.ok(shorter!.total <= longer!.total)
  })
})

/** A period of the plan developer, with nothing of a disk included, as that depends on its length. */
function periodIn(month: string, hours: number | null): PeriodRow {
  const begin = new Date(hours === null ? month : Date.parse(month) + 24 * hourMs)
  const end = hours === null ? endOfMonth(begin) : new Date(begin.getTime() + hours * hourMs)
  return {
    id: 0,
    organization_id: organizationId,
    starts_at: begin,
    ends_at: end,
    plan_id: 'developer',
    catalog_version: 1,
    terms: { included_hot_storage_bytes: 0 },
    has_whole_allowance: false,
    status: 'closing',
    closes_at: end,
    closed_at: null,
    adjustments_cents: null,
    compute_check_at: null,
    compute_settled: {},
    compute_settled_through: null,
    invoice_state: null,
    invoice_id: null,
    invoice_attempts: 0,
    invoice_next_attempt_at: null,
    invoice_error: null,
  }
}

/** Moves what is within the first 28 days of the month, and leaves out the rest. */
function moveFacts({ intervals, egress: counts }: Facts, byMs: number): Facts {
  const limit = origin + 28 * 24 * hourMs
  const moved = (at: Date) => new Date(Math.min(Number(at), limit) + byMs)
  return {
    intervals: intervals.map((one) => ({
      ...one,
      started_at: moved(one.started_at),
      ended_at: moved(one.ended_at),
    })),
    egress: counts
      .filter(({ at }) => Number(at) < limit)
      .map((one) => ({ ...one, at: moved(one.at) })),
  }
}

function quantityOf({ meter, quantity }: RatedLine) {
  return [meter, quantity]
}

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
  await tryProperty(fc.asyncProperty(arbitrary, predicate), { share })
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
