import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { Database } from '../../db/database.ts'
import type { MachineDriver } from '../../drivers/machine-driver.ts'
import { ApiError } from '../../errors.ts'

const gibibyte = 2 ** 30
/** The worker measures this often; retry-after of a full pool waits for the next measurement. */
export const measureEveryMs = 10_000

/** Records the free space and memory of the engine for processes that do not call the engine. */
export async function recordPool(
  app: Pick<App, 'db'>,
  driver: Pick<MachineDriver, 'measurePool' | 'measureMemory'>,
): Promise<void> {
  const [pool, memory] = await Promise.all([driver.measurePool(), driver.measureMemory()])
  const seen = {
    total_bytes: pool.totalBytes,
    free_bytes: pool.freeBytes,
    memory_total_bytes: memory.totalBytes,
    memory_available_bytes: memory.availableBytes,
    measured_at: sql<Date>`clock_timestamp()`,
  }
  await app.db
    .insertInto('pool_status')
    .values(seen)
    .onConflict((known) => known.column('only_row').doUpdateSet(seen))
    .execute()
}

/** Throws while the pool is too full for another disk. Before the first measurement it never throws. */
export async function requireDiskRoom(db: Database): Promise<void> {
  const pool = await db.selectFrom('pool_status').selectAll().executeTakeFirst()
  if (!pool || pool.free_bytes >= Math.max(pool.total_bytes * 0.02, gibibyte)) return
  throw new ApiError(
    'compute_unavailable',
    'the disk of this server is full: delete snapshots or machines that are no longer needed',
    { retryAfter: measureEveryMs / 1000 },
  )
}
