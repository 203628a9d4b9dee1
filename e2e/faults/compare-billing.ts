import { sql } from 'kysely'
import type { Database } from '../../server/src/db/database.ts'
import { listOrganizationIds } from '../../server/src/domain/billing/periods.ts'
import { verifyPeriods } from '../../server/src/domain/billing/verification.ts'

/** The bill until now must follow from the log alone, as `computer admin billing verify` finds out. */
export async function compareBilling(db: Database): Promise<string[]> {
  const { rows } = await sql<{ now: Date }>`
    select date_trunc('second', clock_timestamp()) as now`.execute(db)
  const found: string[] = []
  for (const id of await listOrganizationIds(db)) {
    const { periods, differences } = await verifyPeriods(db, id, { openUntil: rows[0]!.now })
    if (periods === 0) found.push(`no period of ${id} was looked at`)
    for (const { meter, field, billed, recomputed } of differences)
      found.push(`${id}: ${meter}: ${field} ${billed} is billed, and the log gives ${recomputed}`)
  }
  return found
}
