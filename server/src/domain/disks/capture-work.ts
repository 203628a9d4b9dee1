import type { CaptureId, MachineId } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { CaptureRow } from '../../db/database.ts'
import { claimDue } from '../claims.ts'

/*
 * Which captures have something to be done. Those to be made are done under the claim of their
 * machine (machines/work-queue.ts); those that nobody names any more are claimed by themselves.
 */

/** The capture of a machine that is to be made next: the oldest that is due, or else the oldest. */
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

/** The next try of a capture that failed, or of a removal that did. */
export async function retryCapture(
  app: Pick<App, 'db'>,
  capture: CaptureRow,
  delayMs: number,
): Promise<void> {
  await app.db
    .updateTable('captures')
    .set({
      attempts: sql`attempts + 1`,
      next_attempt_at: sql<Date>`clock_timestamp() + make_interval(secs => ${delayMs / 1000})`,
    })
    .where('id', '=', capture.id)
    .where('state', '=', capture.state)
    .execute()
}

/** Takes up to `limit` captures that nobody names any more. */
export async function claimReleasedCaptures(
  app: Pick<App, 'db'>,
  workerId: string,
  limit: number,
): Promise<CaptureRow[]> {
  const due = app.db
    .selectFrom('captures')
    .select('id')
    .where('state', '=', 'deleting')
    .where('next_attempt_at', '<=', sql<Date>`clock_timestamp()`)
    .orderBy('next_attempt_at')
  return claimDue(app, 'captures', due, { workerId, limit })
}

/** The copy in the engine is gone: so are the capture and the snapshots that were deleted with it. */
export async function finishRemoval(app: Pick<App, 'db'>, id: CaptureId): Promise<void> {
  await app.db.transaction().execute(async (tx) => {
    await tx.deleteFrom('snapshots').where('capture_id', '=', id).execute()
    await tx.deleteFrom('captures').where('id', '=', id).where('state', '=', 'deleting').execute()
  })
}

/** Every capture whose copy the engine is to have, of all organizations. */
export async function listCapturesToKeep(app: Pick<App, 'db'>): Promise<ReadonlySet<CaptureId>> {
  const rows = await app.db
    .selectFrom('captures')
    .select('id')
    .where('state', 'in', ['pending', 'ready', 'deleting'])
    .execute()
  return new Set(rows.map(({ id }) => id))
}
