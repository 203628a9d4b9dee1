import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { Database } from '../../db/database.ts'
import { ApiError } from '../../errors.ts'

const gibibyte = 2 ** 30
/** How often the worker measures: an answer that says "later" means after the next time. */
export const measureEveryMs = 10_000

/** Notes how much room the engine has, for those who do not talk to it. */
export async function recordPool(
  app: Pick<App, 'db'>,
  { totalBytes, freeBytes }: { readonly totalBytes: number; readonly freeBytes: number },
): Promise<void> {
  const seen = {
    total_bytes: totalBytes,
    free_bytes: freeBytes,
    measured_at: sql<Date>`clock_timestamp()`,
  }
  await app.db
    .insertInto('pool_status')
    .values(seen)
    .onConflict((known) => known.column('only_row').doUpdateSet(seen))
    .execute()
}

/** Refuses what makes another disk while the pool is full. Before it was measured, all is tried. */
export async function requireDiskRoom(db: Database): Promise<void> {
  const pool = await db.selectFrom('pool_status').selectAll().executeTakeFirst()
  if (!pool || pool.free_bytes >= Math.max(pool.total_bytes * 0.02, gibibyte)) return
  throw new ApiError(
    'compute_unavailable',
    'the disk of this server is full: delete snapshots or machines that are not needed any more',
    { retryAfter: measureEveryMs / 1000 },
  )
}
