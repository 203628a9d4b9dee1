import { sql } from 'kysely'
import type { Database } from '../../server/src/db/database.ts'
import { createApiClient } from '../../e2e/harness/api.ts'
import { openBenchDatabase, openBilled, type Billed } from '../billed.ts'
import { compareRounds, type Bench, type BenchContext, type Row } from '../row.ts'
import { runRounds, time } from '../rounds.ts'

/**
 * The summary of a month over HTTP, compared with one `select sum` over the same rows, as somebody would
 * write it who keeps such a table.
 */
export const bench: Bench = {
  name: 's27-usage-summary',
  title: 'summary of a month',
  async run(context) {
    await using stack = new AsyncDisposableStack()
    const db = openBenchDatabase(context)
    stack.defer(() => db.destroy())
    const rows: Row[] = []
    for (const { intervals, p50Ms } of sizes) {
      await using billed = await openBilled(db, intervals)
      rows.push(await measure(context, db, billed, { intervals, p50Ms }))
    }
    return rows
  },
}

const sizes = [
  { intervals: 10_000, p50Ms: 50 },
  { intervals: 200_000, p50Ms: 250 },
]

async function measure(
  { api, plan, say }: BenchContext,
  db: Database,
  billed: Billed,
  { intervals, p50Ms }: (typeof sizes)[number],
): Promise<Row> {
  const { organizationId, secret } = billed
  const reader = createApiClient(api.baseUrl, secret)
  const expected = JSON.stringify(await inserted(db, organizationId))
  const check = (sums: Sums) => {
    const found = JSON.stringify(sums)
    return found === expected ? undefined : `${found} instead of ${expected}`
  }
  const sides = {
    async ours() {
      const { ms, result } = await time(() =>
        reader.ok<{ lines: Line[] }>('GET', '/v1/billing/usage-summary'),
      )
      const used = result.lines.filter(({ quantity }) => quantity !== '0')
      return { ms, wrong: check(sorted(used.map((line) => [line.meter, line.quantity]))) }
    },
    async baseline() {
      const { ms, result } = await time(() => selectSum(db, billed))
      return { ms, wrong: check(sorted(result)) }
    },
  }
  return compareRounds(
    await runRounds(sides, plan.slow, (progress) => say(`${intervals} intervals, ${progress}`)),
    {
      id: 'S27',
      ours: `summary of ${intervals} intervals`,
      baseline: 'select sum',
      target: { ratio: 2, p50Ms },
    },
  )
}

type Sums = readonly (readonly [meter: string, quantity: string])[]
type Line = { readonly meter: string; readonly quantity: string }

async function selectSum(
  db: Database,
  { organizationId, start }: Billed,
): Promise<[string, string][]> {
  const { rows } = await sql<{ meter: string; size: string | null; sum: string }>`
    select meter, size, sum(extract(epoch from ended_at - started_at) * coalesce(bytes, 1))::bigint::text
      as sum
    from meter_intervals
    where organization_id = ${organizationId}
      and started_at >= ${start} and ended_at <= now()
    group by meter, size`.execute(db)
  return rows.map(({ meter, size, sum }) => [
    size === null ? `${meter}_byte_seconds` : `${meter}_${size}_seconds`,
    sum,
  ])
}

/** The inserted rows, summed here. */
async function inserted(db: Database, organizationId: string): Promise<Sums> {
  const { rows } = await sql<{ meter: string; seconds: string; bytes: string | null }>`
    select coalesce('compute_' || size || '_seconds', meter || '_byte_seconds') as meter,
      extract(epoch from ended_at - started_at)::bigint::text as seconds, bytes::text as bytes
    from meter_intervals where organization_id = ${organizationId}`.execute(db)
  const sums = new Map<string, bigint>()
  for (const { meter, seconds, bytes } of rows)
    sums.set(meter, (sums.get(meter) ?? 0n) + BigInt(seconds) * BigInt(bytes ?? 1))
  return sorted([...sums].map(([meter, sum]) => [meter, String(sum)]))
}

function sorted(sums: Sums): Sums {
  return sums.toSorted(([a], [b]) => a.localeCompare(b))
}
