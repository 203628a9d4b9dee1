import type { CaptureId, MachineId } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../app.ts'

/*
 * Who works on a row. A worker takes rows that need work for a few seconds at a time, and renews while
 * it works; one that dies loses them by the clock.
 */

const claimedFor = sql`interval '5 seconds'`
export const renewEveryMs = 1_000

/** What a row is set to that `claimant` takes. */
export function claimOf(claimant: string) {
  return { claimed_by: claimant, claimed_until: sql<Date>`clock_timestamp() + ${claimedFor}` }
}

/** Whether nobody works on a row, or whoever did has died. `row` is what the statement calls it. */
export function isUnclaimed(row: string) {
  const until = sql.ref(`${row}.claimed_until`)
  return sql<boolean>`(${until} is null or ${until} < clock_timestamp())`
}

type Claimed = {
  readonly machines: MachineId
  readonly captures: CaptureId
  readonly secret_deliveries: MachineId
}

export async function renewClaims<Table extends keyof Claimed>(
  app: Pick<App, 'db'>,
  table: Table,
  workerId: string,
  ids: readonly Claimed[Table][],
): Promise<void> {
  if (ids.length === 0) return
  await sql`
    update ${sql.table(table)} set claimed_until = clock_timestamp() + ${claimedFor}
    where claimed_by = ${workerId} and id = any(${ids})
  `.execute(app.db)
}

/** Lets a row go; what remains to be done is due at `next_attempt_at`. */
export async function releaseClaim<Table extends keyof Claimed>(
  app: Pick<App, 'db'>,
  table: Table,
  workerId: string,
  id: Claimed[Table],
): Promise<void> {
  await sql`
    update ${sql.table(table)} set claimed_by = null, claimed_until = null
    where claimed_by = ${workerId} and id = ${id}
  `.execute(app.db)
}
