import type { CaptureId, MachineId } from '@computer/contract'
import { randomUUID } from 'node:crypto'
import { sql, type RawBuilder, type Selectable, type SelectQueryBuilder } from 'kysely'
import type { App } from '../app.ts'
import type { Schema } from '../db/database.ts'
import { allColumns } from '../db/query-compiler.ts'

/*
 * Claims say which worker works on a row. A worker claims rows that are due for a few seconds at a time
 * and renews its claims while it works; the claims of a worker that died expire by the database's clock.
 */

/** The tables whose rows are claimed, and their ids. */
type ClaimedTables = {
  readonly machines: MachineId
  readonly captures: CaptureId
  readonly secret_deliveries: MachineId
  readonly warm_machines: MachineId
  readonly capture_copies: string
}

/** A query for the ids of rows that are due; it may join what decides that. */
// oxlint-disable-next-line typescript/no-explicit-any
type DueIds<Id> = SelectQueryBuilder<any, any, { id: Id }>

/** Claims up to `limit` of the due rows that nobody else works on, in the order of `due`. */
export async function claimDue<Table extends keyof ClaimedTables>(
  app: Pick<App, 'db' | 'timing'>,
  table: Table,
  due: DueIds<ClaimedTables[Table]>,
  claim: { readonly workerId: string; readonly limit: number },
): Promise<Selectable<Schema[Table]>[]> {
  if (claim.limit <= 0) return []
  const unclaimed = due.where(isUnclaimed(table))
  const { rows } = await sql<Selectable<Schema[Table]>>`
    update ${sql.table(table)} set claimed_by = ${claim.workerId}, claimed_until = ${inMs(app.timing.claimMs)}
    where id = ${anyLocked(unclaimed, table, claim.limit)}
    returning ${allColumns(table)}
  `.execute(app.db)
  return rows
}

/**
 * For `where id = …`: up to `limit` of the due ids, locked; rows that another transaction has locked
 * are skipped. An array is computed once. In `id in (select …)` the planner may choose a nested loop
 * that runs the query again for each row; it skips what was locked before and so takes more than
 * `limit` rows.
 */
export function anyLocked<Id>(due: DueIds<Id>, table: keyof Schema, limit: number): RawBuilder<Id> {
  return sql<Id>`any(array${due.limit(limit).forUpdate(table).skipLocked()})`
}

/** Works on a machine under a claim of its own, or not at all while somebody else has one. */
export async function withClaim(
  app: Pick<App, 'db' | 'timing'>,
  id: MachineId,
  work: () => Promise<void>,
): Promise<void> {
  const workerId = randomUUID()
  const due = app.db.selectFrom('machines').select('id').where('id', '=', id)
  const claimed = await claimDue(app, 'machines', due, { workerId, limit: 1 })
  if (claimed.length === 0) return
  try {
    await work()
  } finally {
    await releaseClaim(app, 'machines', workerId, id)
  }
}

/**
 * Renews the worker's claims of these rows. A row that a transaction has locked is left to the next
 * renewal: waiting for one row while others are locked could be a deadlock.
 */
export async function renewClaims<Table extends keyof ClaimedTables>(
  app: Pick<App, 'db' | 'timing'>,
  table: Table,
  workerId: string,
  ids: readonly ClaimedTables[Table][],
): Promise<void> {
  if (ids.length === 0) return
  await sql`
    update ${sql.table(table)} set claimed_until = ${inMs(app.timing.claimMs)}
    where id = any(array(
      select id from ${sql.table(table)} where claimed_by = ${workerId} and id = any(${ids})
      for no key update skip locked
    ))
  `.execute(app.db)
}

/** Releases a row; what remains to be done is due at `next_attempt_at`. */
export async function releaseClaim<Table extends keyof ClaimedTables>(
  app: Pick<App, 'db'>,
  table: Table,
  workerId: string,
  id: ClaimedTables[Table],
): Promise<void> {
  await sql`
    update ${sql.table(table)} set claimed_by = null, claimed_until = null
    where claimed_by = ${workerId} and id = ${id}
  `.execute(app.db)
}

/** That many milliseconds from now, by the database's clock. */
export function inMs(ms: number): RawBuilder<Date> {
  return sql<Date>`clock_timestamp() + make_interval(secs => ${ms / 1000})`
}

function isUnclaimed(table: keyof ClaimedTables) {
  const until = sql.ref(`${table}.claimed_until`)
  return sql<boolean>`(${until} is null or ${until} < clock_timestamp())`
}
