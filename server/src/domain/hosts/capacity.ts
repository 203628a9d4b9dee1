import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { Database } from '../../db/database.ts'
import { ApiError } from '../../errors.ts'

const mebibyte = 2 ** 20
const gibibyte = 2 ** 30
/** The worker of a host measures this often; retry-after of a full host waits for the next measurement. */
export const measureEveryMs = 10_000

/** Records the free space and memory of this host for processes that do not call its engine. */
export async function recordCapacity(app: Pick<App, 'db' | 'config' | 'driver'>): Promise<void> {
  const [pool, memory] = await Promise.all([app.driver.measurePool(), app.driver.measureMemory()])
  await app.db
    .updateTable('hosts')
    .set({
      total_bytes: pool.totalBytes,
      free_bytes: pool.freeBytes,
      memory_total_bytes: memory.totalBytes,
      memory_available_bytes: memory.availableBytes,
    })
    .where('name', '=', app.config.host)
    .execute()
}

/** Throws while the pool of the host is too full for another disk. Before the first measurement it never throws. */
export async function requireDiskRoom(db: Database, host: string): Promise<void> {
  const { rows } = await sql`select from hosts where name = ${host} and not ${hasDiskRoom}`.execute(
    db,
  )
  if (rows.length > 0) throw diskFull()
}

/**
 * Throws while the host has too little memory for another machine: the kernel of a full host kills programs of any of
 * them.
 */
export async function requireMemoryRoom(db: Database, host: string): Promise<void> {
  const { rows } = await sql`
    select from hosts, lateral ${machinesOfHost} as machines
    where name = ${host} and not ${hasMemoryRoom}`.execute(db)
  if (rows.length > 0) throw memoryFull()
}

/** Whether the pool of a row of `hosts` has room for another disk. */
export const hasDiskRoom = sql<boolean>`
  coalesce(free_bytes >= greatest(total_bytes * 0.02, ${sql.lit(gibibyte)}), true)`

/** The memory of a machine with its desktop before its user has opened anything. */
const bootBytes = 256 * mebibyte
/**
 * The host's cache keeps this much of an idle machine's programs. The kernel counts it as available, but without it
 * every program waits for the disk. Machines do not share it, because each has a disk of its own.
 */
const cachedBytes = 64 * mebibyte

/**
 * How many machines of a row of `hosts` run, or are on their way and have not taken their memory yet. Every create asks;
 * a host has far more machines at rest, and they are not read.
 */
export const machinesOfHost = sql`(
  select
    count(*) filter (where state != 'running') as starting,
    count(*) filter (where state = 'running') as running,
    coalesce(sum(memory_mb), 0) as memory_mb
  from machines
  where host = hosts.name and state in ('creating', 'starting', 'running') and deleted_at is null
)`

/**
 * For how many more machines a row of `hosts`, beside its `machines`, has memory: what they take at once, with the cache of
 * those that run, must leave the host its share. Below zero if it has too little already; null before it is measured.
 */
export const memoryRoom = sql<number | null>`
  floor(least(
    (memory_available_bytes - greatest(memory_total_bytes * 0.05, ${sql.lit(512 * mebibyte)}))
      / ${sql.lit(bootBytes)},
    (memory_available_bytes - machines.running * ${sql.lit(cachedBytes)})
      / ${sql.lit(bootBytes + cachedBytes)}
  ) - machines.starting)::int`

/** For how many more running machines each host has memory; null before it is measured. */
export async function readMemoryRooms(db: Database): Promise<ReadonlyMap<string, number | null>> {
  const { rows } = await sql<{ name: string; room: number | null }>`
    select name, ${memoryRoom} as room from hosts, lateral ${machinesOfHost} as machines`.execute(
    db,
  )
  return new Map(rows.map(({ name, room }) => [name, room === null ? null : Math.max(0, room)]))
}

/** For how many machines a host that was measured while none ran has memory. */
export async function readEmptyMemoryRoom(db: Database, host: string): Promise<number> {
  const { rows } = await sql<{ room: number }>`
    select greatest(0, ${memoryRoom}) as room
    from hosts, (select 0 as running, 0 as starting) as machines
    where name = ${host}`.execute(db)
  return rows[0]!.room
}

/** Whether a row of `hosts`, beside its `machines`, has memory for one more. */
export const hasMemoryRoom = sql<boolean>`coalesce(${memoryRoom} >= 1, true)`

export function diskFull(): ApiError {
  return full(
    'the disk of this server is full: delete snapshots or machines that are no longer needed',
  )
}

export function memoryFull(): ApiError {
  return full('the memory of this server is full: stop machines that are not needed now')
}

function full(message: string): ApiError {
  return new ApiError('compute_unavailable', message, { retryAfter: measureEveryMs / 1000 })
}
