import { sql } from 'kysely'
import type { Database, Tx } from '../src/db/database.ts'
import { eventually } from './settled.ts'

/**
 * Makes calls collide: the test locks rows that they all need until each of them waits for the lock.
 * Only the order in which they go on is left to chance. `meanwhile` changes rows before they go on.
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

/** Locks an organization, as calls that change its members do. */
export const holdOrganization = (id: string) => (tx: Tx) =>
  sql`select from organizations where id = ${id} for no key update`.execute(tx)

async function countWaiting(db: Database): Promise<number> {
  const { rows } = await sql<{ waiting: number }>`select count(*) as waiting from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
  return rows[0]!.waiting
}
