import type { Database } from '../../db/database.ts'
import { ApiError } from '../../errors.ts'
import { measureEveryMs } from '../disks/pool.ts'

const gibibyte = 2 ** 30
/** The memory of a machine with its desktop before its user has opened anything. */
const bootBytes = gibibyte / 4

/**
 * Throws while the host has too little memory for another machine: the kernel of a full host kills programs of any of
 * them. Machines that are on their way to running have not taken theirs yet.
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
