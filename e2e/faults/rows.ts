import { sql } from 'kysely'
import { pino } from 'pino'
import {
  openDatabase,
  type CaptureRow,
  type Database,
  type MachineRow,
  type WarmMachineRow,
} from '../../server/src/db/database.ts'
import { moveReason } from '../../server/src/domain/disks/relocations.ts'
import { listWarm } from '../../server/src/domain/machines/warm-machines.ts'
import { compareBilling } from './compare-billing.ts'
import { checkMeters } from '../../server/test/meter-checks.ts'
import { databaseUrl } from '../../server/src/host/postgres.ts'

/** The rows to compare. */
export type Rows = {
  readonly machines: readonly MachineRow[]
  readonly captures: readonly CaptureRow[]
  /** The hosts that have a copy of a capture. */
  readonly copies: readonly { readonly capture_id: string; readonly host: string }[]
  readonly warm: readonly WarmMachineRow[]
  /** The hosts of all machines that ever existed, by the ULIDs of the machines. */
  readonly hostOf: ReadonlyMap<string, string>
}

export type RowsReader = AsyncDisposable & {
  read(): Promise<Rows>
  /** Describes the rows that have not settled; null if there are none. */
  findUnsettled(): Promise<string | null>
  /** A machine starts again once its host is back. Also true while nobody can tell. */
  awaitsHost(id: string): Promise<boolean>
  /** A machine that goes to another host restarts, and refuses meanwhile what a running one does. */
  movedLately(id: string): Promise<boolean>
  /** Contradictions between rows. */
  compare(): Promise<string[]>
  /** The rows that help to find a cause, as JSON. */
  dump(): Promise<string>
}

export function openRows(dataDir: string): RowsReader {
  const db = openDatabase(databaseUrl(dataDir), {
    log: pino({ level: 'silent' }),
    maxConnections: 1,
  })
  return {
    async read() {
      const all = await db.selectFrom('machines').selectAll().execute()
      const captures = await db.selectFrom('captures').selectAll().execute()
      const copies = await db.selectFrom('capture_copies').select(['capture_id', 'host']).execute()
      const warm = await listWarm(db)
      return {
        machines: all.filter((row) => row.deleted_at === null),
        captures,
        copies,
        warm,
        hostOf: new Map([...all, ...warm].map(({ id, host }) => [id.slice('mch_'.length), host])),
      }
    },
    findUnsettled: () => findUnsettled(db),
    async awaitsHost(id) {
      const machine = db
        .selectFrom('machines')
        .select('awaits_host')
        .where('id', '=', id as MachineRow['id'])
      return machine.executeTakeFirst().then(
        (row) => row?.awaits_host === true,
        () => true,
      )
    },
    async movedLately(id) {
      const events = db
        .selectFrom('machine_events')
        .select('id')
        .where('machine_id', '=', id as MachineRow['id'])
        .where('message', '=', moveReason)
        .where('occurred_at', '>', sql<Date>`clock_timestamp() - interval '20 seconds'`)
        .limit(1)
      return events.executeTakeFirst().then(
        (row) => row !== undefined,
        () => true,
      )
    },
    async compare() {
      const parts = [compareUidSlots, compareLeases, compareSessions, compareHelp, compareEvents]
      const found: string[] = []
      for (const part of [...parts, compareCaptures, compareMeters, compareBilling])
        found.push(...(await part(db)))
      return found
    },
    async dump() {
      const tables = [
        'machines',
        'warm_machines',
        'captures',
        'snapshots',
        'templates',
        'machine_events',
      ] as const
      const dump: Record<string, unknown> = {}
      for (const table of tables) {
        dump[table] = await db.selectFrom(table).selectAll().orderBy('id').execute()
      }
      return JSON.stringify(dump, null, 1)
    },
    [Symbol.asyncDispose]: () => db.destroy(),
  }
}

async function findUnsettled(db: Database): Promise<string | null> {
  const machines = await db
    .selectFrom('machines')
    .select(['id', 'state', 'last_error'])
    .where('deleted_at', 'is', null)
    .where((eb) =>
      eb.or([
        eb('state', 'in', ['creating', 'stopping', 'starting', 'deleting']),
        eb('restore_capture_id', 'is not', null),
        eb('awaits_host', '=', true),
      ]),
    )
    .execute()
  const captures = await db
    .selectFrom('captures')
    .select(['id', 'state', 'error as last_error'])
    .where('state', 'in', ['pending', 'deleting'])
    .execute()
  const warm = await db
    .selectFrom('warm_machines')
    .select((eb) => ['id', 'state', eb.val('').as('last_error')])
    .where('state', '!=', 'ready')
    .execute()
  const copies = await db
    .selectFrom('capture_copies')
    .select(['capture_id as id', 'state', 'host as last_error'])
    .where('state', '!=', 'ready')
    .execute()
  const relocations = await db
    .selectFrom('relocations')
    .select(['machine_id as id', 'phase as state', 'to_host as last_error'])
    .execute()
  const hosts = await db
    .selectFrom('hosts')
    .select(['name as id', 'state', 'unhealthy_reason as last_error'])
    .where('state', '=', 'draining')
    .execute()
  const busy = [...machines, ...captures, ...warm, ...copies, ...relocations, ...hosts]
  if (busy.length === 0) return null
  return busy.map(({ id, state, last_error: why }) => `${id} ${state} ${why ?? ''}`).join('; ')
}

/** A machine, of a user or of the pool, exclusively owns a range of host uids while its disk exists. */
async function compareUidSlots(db: Database): Promise<string[]> {
  const owners = db
    .selectFrom('machines')
    .select(['id', 'uid_slot'])
    .where('deleted_at', 'is', null)
    .unionAll(db.selectFrom('warm_machines').select(['id', 'uid_slot']))
  const rows = await db
    .selectFrom('uid_slots')
    .fullJoin(owners.as('owners'), (join) =>
      join
        .onRef('owners.id', '=', 'uid_slots.machine_id')
        .onRef('owners.uid_slot', '=', 'uid_slots.slot'),
    )
    .select(['uid_slots.slot', 'uid_slots.machine_id', 'owners.id'])
    .where((eb) => eb.or([eb('machine_id', 'is not', null), eb('owners.id', 'is not', null)]))
    .execute()
  return rows.flatMap(({ slot, machine_id: owner, id }) => {
    if (owner !== null && id === null) return [`uid slot ${slot} is still owned by ${owner}`]
    return owner === null ? [`${id} has no uid slot`] : []
  })
}

async function compareLeases(db: Database): Promise<string[]> {
  const rows = await db
    .selectFrom('input_leases')
    .innerJoin('machines', 'machines.id', 'input_leases.machine_id')
    .leftJoin('sessions', 'sessions.id', 'input_leases.session_id')
    .select(['machines.id', 'machines.deleted_at', 'sessions.closed_at'])
    .where((eb) =>
      eb.or([eb('machines.deleted_at', 'is not', null), eb('sessions.closed_at', 'is not', null)]),
    )
    .execute()
  return rows.map(({ id, deleted_at: deletedAt }) =>
    deletedAt
      ? `${id} is gone but has an input lease`
      : `the input lease of ${id} is held by a closed session`,
  )
}

async function compareSessions(db: Database): Promise<string[]> {
  const rows = await db
    .selectFrom('sessions')
    .innerJoin('machines', 'machines.id', 'sessions.machine_id')
    .select('sessions.id')
    .where('sessions.closed_at', 'is', null)
    .where('machines.deleted_at', 'is not', null)
    .execute()
  return rows.map(({ id }) => `${id} is open on a machine that is gone`)
}

/** An active request has a session that is open, and nobody waits for a machine that is gone. */
async function compareHelp(db: Database): Promise<string[]> {
  const rows = await db
    .selectFrom('help_requests as h')
    .innerJoin('machines as m', 'm.id', 'h.machine_id')
    .leftJoin('sessions as s', 's.id', 'h.session_id')
    .select(['h.id', 'h.state'])
    .where('h.state', 'in', ['open', 'active'])
    .where((eb) => eb.or([eb('m.deleted_at', 'is not', null), eb('s.closed_at', 'is not', null)]))
    .execute()
  return rows.map(({ id, state }) => `${id} is ${state} without its machine or its session`)
}

/** A machine's log has no gap, and each transition starts in the state in which the last one ended. */
async function compareEvents(db: Database): Promise<string[]> {
  const events = await db
    .selectFrom('machine_events')
    .select(['machine_id', 'sequence', 'type', 'from_state', 'to_state'])
    .orderBy('machine_id')
    .orderBy('sequence')
    .execute()
  const problems: string[] = []
  let [machineId, sequence, state]: [string, number, string | null] = ['', 0, null]
  for (const event of events) {
    if (event.machine_id !== machineId) {
      ;[machineId, sequence, state] = [event.machine_id, event.sequence, null]
    } else if (event.sequence !== ++sequence) {
      problems.push(
        `the events of ${machineId} continue with ${event.sequence} instead of ${sequence}`,
      )
      sequence = event.sequence
    }
    if (event.to_state === null || !event.type.startsWith('machine.')) continue
    if (state !== null && event.from_state !== state) {
      problems.push(
        `${machineId} was ${state}, but event ${sequence} moves it from ${event.from_state}`,
      )
    }
    state = event.to_state
  }
  return problems
}

/** A capture without references must be deleted, and one that is ready is on a host. */
async function compareCaptures(db: Database): Promise<string[]> {
  const lost = await db
    .selectFrom('captures')
    .leftJoin('capture_copies as copy', 'copy.capture_id', 'captures.id')
    .select('captures.id')
    .where('captures.state', '=', 'ready')
    .where('copy.id', 'is', null)
    .execute()
  const rows = await db
    .selectFrom('captures as c')
    .select(['c.id', 'c.state'])
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('snapshots')
            .whereRef('capture_id', '=', 'c.id')
            .where('deleted_at', 'is', null),
        ),
      ),
    )
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('templates').whereRef('capture_id', '=', 'c.id'))),
    )
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('machines')
            .whereRef('base_capture_id', '=', 'c.id')
            .where('deleted_at', 'is', null),
        ),
      ),
    )
    .execute()
  return [
    ...lost.map(({ id }) => `${id} is ready on no host`),
    ...rows.map(({ id, state }) => `${id} is ${state} without a reference`),
  ]
}

/** The meters must equal those computed from the log. */
async function compareMeters(db: Database): Promise<string[]> {
  return checkMeters(db).then(
    () => [],
    (error: Error) => [`the meters differ from the log: ${error.message}`],
  )
}
