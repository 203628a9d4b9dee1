import type { MachineState } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { HostRow, Tx, WarmMachineRow } from '../../db/database.ts'
import { readMemoryRooms } from '../hosts/capacity.ts'
import { readWork, type Work } from './work.ts'

/*
 * Figures about the whole server for its operator. Every statement reads indexes of what is alive or waits, never a log,
 * so that the cost does not grow with the server's age.
 */

export type Figures = {
  readonly machines: readonly Count<MachineState>[]
  readonly warmMachines: readonly Count<WarmMachineRow['state']>[]
  readonly hosts: readonly HostFigures[]
  readonly work: readonly Work[]
}

type Count<State> = { readonly host: string; readonly state: State; readonly count: number }

export type HostFigures = Pick<
  HostRow,
  'name' | 'state' | 'total_bytes' | 'free_bytes' | 'memory_total_bytes' | 'memory_available_bytes'
> & {
  readonly is_healthy: boolean
  /** Since the last sign of life of its worker; null before the first. */
  readonly silent_seconds: number | null
  /** For how many more running machines it has memory; null before it is measured. */
  readonly memory_room: number | null
}

/** Reads the figures on the host that has the duties; null on the others, so that each is reported once. */
export async function readFigures(
  { db, config }: Pick<App, 'db' | 'config'>,
  limitMs: number,
): Promise<Figures | null> {
  return db
    .transaction()
    .setAccessMode('read only')
    .execute(async (tx) => {
      await sql`select set_config('statement_timeout', ${`${limitMs}ms`}, true)`.execute(tx)
      if (!(await hasDuties(tx, config.host))) return null
      return {
        machines: await countMachines(tx),
        warmMachines: await countWarm(tx),
        hosts: await listHostFigures(tx),
        work: await readWork(tx),
      }
    })
}

async function hasDuties(tx: Tx, host: string): Promise<boolean> {
  const duties = await tx
    .selectFrom('duties')
    .select('host')
    .where('host', '=', host)
    .where('held_until', '>', sql<Date>`clock_timestamp()`)
    .executeTakeFirst()
  return duties !== undefined
}

async function countMachines(tx: Tx): Promise<Count<MachineState>[]> {
  return tx
    .selectFrom('machines')
    .select((eb) => ['host', 'state', eb.fn.countAll<number>().as('count')])
    .where('deleted_at', 'is', null)
    .groupBy(['host', 'state'])
    .execute()
}

async function countWarm(tx: Tx): Promise<Count<WarmMachineRow['state']>[]> {
  return tx
    .selectFrom('warm_machines')
    .select((eb) => ['host', 'state', eb.fn.countAll<number>().as('count')])
    .groupBy(['host', 'state'])
    .execute()
}

/** Hosts that an operator has not given up. */
async function listHostFigures(tx: Tx): Promise<HostFigures[]> {
  const rooms = await readMemoryRooms(tx)
  const hosts = await tx
    .selectFrom('hosts')
    .select(['name', 'state', 'total_bytes', 'free_bytes'])
    .select(['memory_total_bytes', 'memory_available_bytes'])
    .select(sql<boolean>`unhealthy_reason is null`.as('is_healthy'))
    .select(
      sql<number | null>`extract(epoch from clock_timestamp() - seen_at)::float8`.as(
        'silent_seconds',
      ),
    )
    .where('state', 'not in', ['removed', 'lost'])
    .execute()
  return hosts.map((host) => ({ ...host, memory_room: rooms.get(host.name) ?? null }))
}
