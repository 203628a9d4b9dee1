import { sql } from 'kysely'
import type { Actor } from '../../server/src/actor.ts'
import type { Database, Tx } from '../../server/src/db/database.ts'
import { getEntitlements } from '../../server/src/domain/accounts/plans.ts'
import { requireRoomToRun } from '../../server/src/domain/machines/quota.ts'
import { readCompute, settleCompute } from '../../server/src/domain/machines/compute.ts'
import { openBenchDatabase, openBilled } from '../billed.ts'
import { medianOf, type Sample } from '../measure.ts'
import { pairUp, runRounds, time } from '../rounds.ts'
import type { Bench, FigureRow } from '../row.ts'

/**
 * The time that a start's check of the plan adds to its transaction, after a month of usage: compared with a
 * transaction that reads nothing.
 */
export const bench: Bench = {
  name: 's28-room-to-run',
  title: 'check of the plan before a start',
  async run({ plan, say, dataDir }) {
    await using stack = new AsyncDisposableStack()
    const db = openBenchDatabase({ dataDir })
    stack.defer(() => db.destroy())
    const billed = stack.use(await openBilled(db, intervals))
    const { organizationId, userId } = billed
    const actor = { organizationId, userId } as Actor
    const sides = (expected: string | null) => ({
      baseline: () => inTransaction(db, (tx) => sql`select 1`.execute(tx), null),
      ours: () => inTransaction(db, (tx) => requireRoomToRun(tx, actor), expected),
    })
    const measure = async (what: string, expected: string | null): Promise<FigureRow> => {
      const rounds = await runRounds(sides(expected), plan.fast, (at) => say(`${what}, ${at}`))
      const wrong = rounds.flatMap(({ ours, baseline }) => ours.wrong ?? baseline.wrong ?? [])
      if (wrong.length > 0) throw new Error(`${wrong.length} wrong: ${wrong[0]}`)
      const added = pairUp(rounds, 'baseline', 'ours').map(
        (pair) => pair.ours.ms - pair.baseline.ms,
      )
      const value = medianOf(added.filter((ms) => !Number.isNaN(ms)))
      return { kind: 'figure', id: 'S28', what: `${what}: p50`, value, unit: 'ms', limit: 1 }
    }
    const rows = [await measure('the check, compute may go over', null)]
    stack.defer(() => dropCatalog(db))
    await refuseWhenUsedUp(db, organizationId)
    await settleCompute(db, organizationId)
    rows.push(await measure('the check, refused when compute is used up', null))
    // Which shows that it counts what was inserted: one standard-hour less is refused.
    const { used } = await readCompute(db, await getEntitlements(db, organizationId))
    await setIncluded(db, organizationId, used / 3_600_000n)
    rows.push(await measure('the check that refuses', 'quota_exceeded'))
    return rows
  },
}

const intervals = 10_000
/** A version that is never in effect, so no other organization's period takes it. */
const version = 2_000_000_000

async function inTransaction(
  db: Database,
  work: (tx: Tx) => Promise<unknown>,
  expected: string | null,
): Promise<Sample> {
  const run = () =>
    db
      .transaction()
      .execute(work)
      .then(
        () => null,
        (error: { code?: string }) => error.code ?? String(error),
      )
  const { ms, result } = await time(run)
  return { ms, wrong: result === expected ? undefined : `${result} instead of ${expected}` }
}

async function refuseWhenUsedUp(db: Database, organizationId: string): Promise<void> {
  await dropCatalog(db)
  await sql`insert into catalog_versions values (${version}, '9999-01-01')`.execute(db)
  for (const table of catalogTables) {
    const change = {
      catalog_version: version,
      ...(table === plans && { when_used_up: 'refuse', overage_allowed: false }),
    }
    await sql`
      insert into ${sql.table(table)} select r.* from ${sql.table(table)} as c,
        jsonb_populate_record(c, ${JSON.stringify(change)}::jsonb) as r
      where c.catalog_version = 1`.execute(db)
  }
  await sql`update billing_periods set catalog_version = ${version}
    where organization_id = ${organizationId}`.execute(db)
  await setIncluded(db, organizationId, 1_000_000_000n)
}

/** Prorated by nothing, so that the number is the allowance. */
async function setIncluded(db: Database, organizationId: string, hours: bigint): Promise<void> {
  await sql`update billing_periods set has_whole_allowance = true,
    terms = jsonb_build_object('included_standard_hours', ${String(hours)}::bigint)
    where organization_id = ${organizationId}`.execute(db)
}

const plans = 'catalog_plans'
const catalogTables = ['catalog_sizes', plans]

async function dropCatalog(db: Database): Promise<void> {
  await sql`update billing_periods set catalog_version = 1 where catalog_version = ${version}`.execute(
    db,
  )
  for (const table of catalogTables)
    await sql`delete from ${sql.table(table)} where catalog_version = ${version}`.execute(db)
  await sql`delete from catalog_versions where version = ${version}`.execute(db)
}
