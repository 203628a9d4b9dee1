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

/** What a machine with its desktop takes before its user has opened anything. */
const bootBytes = gibibyte / 4

/**
 * Throws while the host has too little memory for another machine. What runs could otherwise make the kernel kill
 * programs of any machine. Machines that are on their way to running have not taken theirs yet.
 */
export async function requireMemoryRoom(db: Database): Promise<void> {
  const host = await db
    .selectFrom('pool_status')
    .select((eb) => [
      'memory_total_bytes as total',
      'memory_available_bytes as available',
      eb
        .selectFrom('machines')
        .select(eb.fn.countAll<number>().as('count'))
        .where('deleted_at', 'is', null)
        .where('state', 'in', ['creating', 'starting'])
        .as('starting'),
    ])
    .executeTakeFirst()
  if (!host || host.total === null || host.available === null) return
  const left = host.available - (Number(host.starting) + 1) * bootBytes
  if (left >= Math.max(host.total * 0.05, gibibyte / 2)) return
  throw new ApiError(
    'compute_unavailable',
    'the memory of this server is full: stop machines that are not needed now',
    { retryAfter: measureEveryMs / 1000 },
  )
}
