import type { MachineId } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { MachineRow } from '../../db/database.ts'
import type { MachineRef } from '../../drivers/machine-driver.ts'
import { claimDue, inMs } from '../claims.ts'
import { appendEvent } from '../events/events.ts'

/*
 * The machines that are due for a step. Claims (claims.ts) keep it to one step at a time for each
 * machine, however many workers share the database. A worker that was stalled past its claim may run
 * beside another, which is why every step can be repeated.
 */

/**
 * Claims up to `limit` machines of this host that are due. A machine's pending captures come before its own next
 * step, and a machine that is made from a capture waits for it and for its copy, so neither is claimed in vain.
 */
export async function claimMachines(
  app: Pick<App, 'db' | 'timing' | 'config'>,
  workerId: string,
  limit: number,
): Promise<MachineRow[]> {
  const due = app.db
    .selectFrom('machines')
    .select('id')
    .where('deleted_at', 'is', null)
    .where('host', '=', app.config.host)
    .where('id', '=', sql<MachineId>`any(array(${dueMachines}))`)
    .orderBy('next_attempt_at')
  return claimDue(app, 'machines', due, { workerId, limit })
}

/** The host is to get the capture from another one first. */
function isComing(column: 'base_capture_id' | 'restore_capture_id') {
  return sql`exists (
    select from capture_copies copy
    where copy.capture_id = m.${sql.ref(column)} and copy.host = m.host and copy.state = 'wanted'
  )`
}

/** For an array, which Postgres computes once. A join may compute them again for each machine at rest. */
export const dueMachines = sql`
  select id from machines m
  where deleted_at is null
    and next_attempt_at <= clock_timestamp()
    and state in ('creating', 'stopping', 'starting', 'deleting')
    and not exists (
      select from captures c where c.state = 'pending' and (
        (c.machine_id = m.id and m.moved_from is null)
        or (c.id = m.base_capture_id and m.state in ('creating', 'starting'))
      )
    )
    and not (m.state in ('creating', 'starting') and ${isComing('base_capture_id')})
    and not (m.state in ('starting', 'stopping') and ${isComing('restore_capture_id')})
  union all
  select id from machines
  where deleted_at is null
    and next_attempt_at <= clock_timestamp()
    and state = 'running'
    and ready_at is null
  union all
  select id from machines m
  where deleted_at is null
    and next_attempt_at <= clock_timestamp()
    and state in ('stopped', 'error')
    and restore_capture_id is not null
    and not ${isComing('restore_capture_id')}
    and (
      m.moved_from is not null
      or not exists (select from captures c where c.state = 'pending' and c.machine_id = m.id)
    )
  union all
  select machine_id from captures c
  where state = 'pending'
    and next_attempt_at <= clock_timestamp()
    and not exists (select from machines m where m.id = c.machine_id and m.moved_from is not null)
`

/** Schedules the next try of a step that failed, or that found nothing to do yet. */
export async function postponeStep(
  app: Pick<App, 'db'>,
  machine: MachineRow,
  delayMs: number,
  error?: unknown,
): Promise<void> {
  await app.db
    .updateTable('machines')
    .set({
      next_attempt_at: inMs(delayMs),
      ...(error !== undefined && { attempts: sql`attempts + 1`, last_error: String(error) }),
    })
    .where('id', '=', machine.id)
    .where('moves', '=', machine.moves)
    .execute()
}

/** Records that the desktop of a running machine answers, once per boot (event machine.ready). */
export async function recordReady(
  app: Pick<App, 'db' | 'changes'>,
  machine: MachineRow,
): Promise<void> {
  await app.db.transaction().execute(async (tx) => {
    const { numUpdatedRows } = await tx
      .updateTable('machines')
      .set({ ready_at: sql`clock_timestamp()` })
      .where('id', '=', machine.id)
      .where('moves', '=', machine.moves)
      .where('ready_at', 'is', null)
      .executeTakeFirst()
    if (numUpdatedRows > 0n) await appendEvent(tx, machine.id, { type: 'machine.ready' })
  })
  app.changes.publish(machine.id)
}

/** Whether the machine has changed no state since the row was read. */
export async function hasNotMoved(app: Pick<App, 'db'>, machine: MachineRow): Promise<boolean> {
  const now = await app.db
    .selectFrom('machines')
    .select('moves')
    .where('id', '=', machine.id)
    .executeTakeFirst()
  return now?.moves === machine.moves
}

/** The row of an instance of this host, whatever its organization. */
export async function findByRef(
  app: Pick<App, 'db' | 'config'>,
  ref: MachineRef,
): Promise<MachineRow | undefined> {
  return app.db
    .selectFrom('machines')
    .selectAll()
    .where('id', '=', ref.id)
    .where('generation', '=', ref.generation)
    .where('host', '=', app.config.host)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
}

/** The machines of this host, and those whose disk it still has, of all organizations. */
export async function listHostMachines(app: Pick<App, 'db' | 'config'>): Promise<MachineRow[]> {
  return app.db
    .selectFrom('machines')
    .selectAll()
    .where((eb) =>
      eb.or([eb('host', '=', app.config.host), eb('moved_from', '=', app.config.host)]),
    )
    .where('deleted_at', 'is', null)
    .execute()
}

/** The machines with these ids that other hosts have now. This host needs nothing of them any more. */
export async function listElsewhere(
  { db, config: { host } }: Pick<App, 'db' | 'config'>,
  ids: readonly MachineId[],
): Promise<readonly Pick<MachineRow, 'id' | 'last_generation'>[]> {
  if (ids.length === 0) return []
  return db
    .selectFrom('machines')
    .select(['id', 'last_generation'])
    .where('id', 'in', ids)
    .where('host', '!=', host)
    .where(sql<boolean>`moved_from is distinct from ${host}`)
    .execute()
}

/** Whether any machine of this host is on its way to running. */
export async function isAnyStarting(app: Pick<App, 'db' | 'config'>): Promise<boolean> {
  const starting = await app.db
    .selectFrom('machines')
    .select('id')
    .where('host', '=', app.config.host)
    .where('deleted_at', 'is', null)
    .where('state', 'in', ['creating', 'starting'])
    .limit(1)
    .executeTakeFirst()
  return starting !== undefined
}
