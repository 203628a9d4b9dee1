import type { MachineId } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { Database, MachineRow } from '../../db/database.ts'
import type { MachineRef } from '../../drivers/machine-driver.ts'
import { claimDue, inMs } from '../claims.ts'
import { appendEvent } from '../events/events.ts'

/*
 * The machines that are due for a step. Claims (claims.ts) keep it to one step at a time for each
 * machine, however many workers share the database. A worker that was stalled past its claim may run
 * beside another, which is why every step can be repeated.
 */

/**
 * Claims up to `limit` machines that are due. A machine's pending captures come before its own next
 * step, and a machine that is made from a capture waits for it, so neither is claimed in vain.
 */
export async function claimMachines(
  app: Pick<App, 'db' | 'timing'>,
  workerId: string,
  limit: number,
): Promise<MachineRow[]> {
  const due = app.db
    .selectFrom('machines')
    .select('id')
    .where('deleted_at', 'is', null)
    .where('id', '=', sql<MachineId>`any(array(${dueMachines}))`)
    .orderBy('next_attempt_at')
  return claimDue(app, 'machines', due, { workerId, limit })
}

/** For an array, which Postgres computes once. A join may compute them again for each machine at rest. */
const dueMachines = sql`
  select id from machines m
  where deleted_at is null
    and next_attempt_at <= clock_timestamp()
    and state in ('creating', 'stopping', 'starting', 'deleting')
    and not exists (
      select from captures c where c.state = 'pending' and (
        c.machine_id = m.id or (c.id = m.base_capture_id and m.state in ('creating', 'starting'))
      )
    )
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
    and not exists (select from captures c where c.state = 'pending' and c.machine_id = m.id)
  union all
  select machine_id from captures
  where state = 'pending' and next_attempt_at <= clock_timestamp()
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

/** The row of an engine instance, whatever its organization. */
export async function findByRef(
  app: Pick<App, 'db'>,
  ref: MachineRef,
): Promise<MachineRow | undefined> {
  return app.db
    .selectFrom('machines')
    .selectAll()
    .where('id', '=', ref.id)
    .where('generation', '=', ref.generation)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
}

/** The machines of all organizations. */
export async function listAllMachines(app: Pick<App, 'db'>): Promise<MachineRow[]> {
  return app.db.selectFrom('machines').selectAll().where('deleted_at', 'is', null).execute()
}

/** Whether any machine is on its way to running. */
export async function isAnyStarting(db: Database): Promise<boolean> {
  const starting = await db
    .selectFrom('machines')
    .select('id')
    .where('deleted_at', 'is', null)
    .where('state', 'in', ['creating', 'starting'])
    .limit(1)
    .executeTakeFirst()
  return starting !== undefined
}
