import type { Database } from '../../db/database.ts'
import { ApiError } from '../../errors.ts'
import { measureEveryMs } from '../disks/pool.ts'

const mebibyte = 2 ** 20
/** The memory of a machine with its desktop before its user has opened anything. */
const bootBytes = 256 * mebibyte
/**
 * The host's cache keeps this much of an idle machine's programs. The kernel counts it as available, but without it
 * every program waits for the disk. Machines do not share it, because each has a disk of its own.
 */
const cachedBytes = 64 * mebibyte

/**
 * Throws while the host has too little memory for another machine: the kernel of a full host kills programs of any of
 * them. Machines that are on their way to running have not taken theirs yet.
 */
export async function requireMemoryRoom(db: Database): Promise<void> {
  const host = await db
    .selectFrom('pool_status')
    .innerJoin(
      (eb) =>
        eb
          .selectFrom('machines')
          .select(({ fn }) => [
            fn
              .countAll<number>()
              .filterWhere('state', 'in', ['creating', 'starting'])
              .as('starting'),
            fn.countAll<number>().filterWhere('state', '=', 'running').as('running'),
          ])
          .where('deleted_at', 'is', null)
          .as('machines'),
      (join) => join.onTrue(),
    )
    .select([
      'memory_total_bytes as total',
      'memory_available_bytes as available',
      'machines.starting',
      'machines.running',
    ])
    .executeTakeFirst()
  if (!host || host.total === null || host.available === null) return
  const starting = host.starting + 1
  const left = host.available - starting * bootBytes
  const cached = (starting + host.running) * cachedBytes
  if (left >= Math.max(host.total * 0.05, 512 * mebibyte, cached)) return
  throw new ApiError(
    'compute_unavailable',
    'the memory of this server is full: stop machines that are not needed now',
    { retryAfter: measureEveryMs / 1000 },
  )
}
