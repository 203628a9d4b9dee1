import type { CaptureId, MachineId } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { CaptureRow } from '../../db/database.ts'
import { claimDue, inMs } from '../claims.ts'

/*
 * The captures that are due for work. Pending captures are made under the claim of their machine
 * (machines/work-queue.ts); captures that no row names any more are claimed by themselves.
 */

/** The next pending capture of a machine: the oldest that is due, or else the oldest. */
export async function findNextCapture(
  app: Pick<App, 'db'>,
  machineId: MachineId,
): Promise<(CaptureRow & { readonly isDue: boolean }) | undefined> {
  return app.db
    .selectFrom('captures')
    .selectAll()
    .select(sql<boolean>`next_attempt_at <= clock_timestamp()`.as('isDue'))
    .where('machine_id', '=', machineId)
    .where('state', '=', 'pending')
    .orderBy('isDue', 'desc')
    .orderBy('created_at')
    .limit(1)
    .executeTakeFirst()
}

export async function hasPendingCapture(
  app: Pick<App, 'db'>,
  machineId: MachineId,
): Promise<boolean> {
  const pending = await app.db
    .selectFrom('captures')
    .select('id')
    .where('machine_id', '=', machineId)
    .where('state', '=', 'pending')
    .limit(1)
    .executeTakeFirst()
  return pending !== undefined
}

/** Schedules the next try of a capture or a removal that failed. */
export async function postponeCapture(
  app: Pick<App, 'db'>,
  capture: CaptureRow,
  delayMs: number,
): Promise<void> {
  await app.db
    .updateTable('captures')
    .set({
      attempts: sql`attempts + 1`,
      next_attempt_at: inMs(delayMs),
    })
    .where('id', '=', capture.id)
    .where('state', '=', capture.state)
    .execute()
}

/** Claims up to `limit` captures that no row names any more and that this host has a copy of. */
export async function claimReleasedCaptures(
  app: Pick<App, 'db' | 'timing' | 'config'>,
  workerId: string,
  limit: number,
): Promise<CaptureRow[]> {
  const due = app.db
    .selectFrom('captures')
    .select('id')
    .where('state', '=', 'deleting')
    .where('next_attempt_at', '<=', sql<Date>`clock_timestamp()`)
    .where(isHere(app.config.host))
    .orderBy('next_attempt_at')
  return claimDue(app, 'captures', due, { workerId, limit })
}

/** Deletes a capture whose last copy is gone, with the snapshots that were deleted with it. */
export async function finishRemoval(app: Pick<App, 'db' | 'config'>, id: CaptureId): Promise<void> {
  await app.db.transaction().execute(async (tx) => {
    await tx.selectFrom('captures').select('id').where('id', '=', id).forUpdate().execute()
    await tx
      .deleteFrom('capture_copies')
      .where('capture_id', '=', id)
      .where('host', '=', app.config.host)
      .execute()
    const other = await tx
      .selectFrom('capture_copies')
      .select('host')
      .where('capture_id', '=', id)
      .executeTakeFirst()
    if (other) return
    await tx.deleteFrom('snapshots').where('capture_id', '=', id).execute()
    await tx.deleteFrom('captures').where('id', '=', id).where('state', '=', 'deleting').execute()
  })
}

/** The captures with these ids, of any organization, whose copies this host must keep. */
export async function listCapturesToKeep(
  app: Pick<App, 'db' | 'config'>,
  ids: readonly CaptureId[],
): Promise<ReadonlySet<CaptureId>> {
  const rows = await app.db
    .selectFrom('captures')
    .select('id')
    .where('id', 'in', ids)
    .where('state', 'in', ['pending', 'ready', 'deleting'])
    .where(isHere(app.config.host))
    .execute()
  return new Set(rows.map(({ id }) => id))
}

/** A capture that has no copy yet is made, or given up, on the host of its machine. */
function isHere(host: string) {
  return sql<boolean>`${host} = any(coalesce(
    nullif(array(select c.host from capture_copies c where c.capture_id = captures.id), '{}'),
    array(select m.host from machines m where m.id = captures.machine_id)
  ))`
}
