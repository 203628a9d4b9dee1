import { sql } from 'kysely'
import type { Database, Tx } from '../src/db/database.ts'
import { eventually } from './settled.ts'

/**
 * Makes calls collide: what they all need is held until every one of them waits for it. Only the
 * order in which they go on is left to chance. `meanwhile` changes what they will find.
 */
export async function collide<T>(
  db: Database,
  hold: (tx: Tx) => Promise<unknown>,
  calls: readonly (() => Promise<T>)[],
  meanwhile?: (tx: Tx) => Promise<unknown>,
): Promise<T[]> {
  const { answers } = await db.transaction().execute(async (tx) => {
    await hold(tx)
    const answers = Promise.all(calls.map((call) => call()))
    await eventually(async () => (await countWaiting(db)) >= calls.length || undefined)
    await meanwhile?.(tx)
    return { answers }
  })
  return answers
}

/** Holds an organization as whoever decides about its members does. */
export const holdOrganization = (id: string) => (tx: Tx) =>
  sql`select from organizations where id = ${id} for no key update`.execute(tx)

async function countWaiting(db: Database): Promise<number> {
  const { rows } = await sql<{ waiting: number }>`select count(*) as waiting from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
  return rows[0]!.waiting
}
