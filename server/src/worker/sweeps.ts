import { sql } from 'kysely'
import { appendEvent } from '../domain/events.ts'
import { expireLease } from '../domain/leases.ts'
import { abandonedAfter } from '../domain/sessions.ts'
import type { WorkerApp } from './machines.ts'

/*
 * What ends by the clock alone. Nothing depends on these passes being on time: a lease that has run
 * out is no lease and an abandoned session is closed to whoever reads it. They write down that it
 * happened, and let go of what the lost holder still held pressed.
 */

const batch = 100

export async function sweepLeases(app: WorkerApp): Promise<void> {
  const expired = await app.db
    .selectFrom('input_leases')
    .select(['machine_id', 'fence'])
    .where('session_id', 'is not', null)
    .where('expires_at', '<', sql<Date>`clock_timestamp()`)
    .limit(batch)
    .execute()
  for (const { machine_id: id, fence } of expired) await expireLease(app, id, fence)
}

export async function sweepSessions(app: WorkerApp): Promise<void> {
  const abandoned = await app.db
    .selectFrom('sessions')
    .select(['id', 'machine_id'])
    .where('closed_at', 'is', null)
    .where('last_active_at', '<', sql<Date>`now() - ${abandonedAfter}`)
    .limit(batch)
    .execute()
  for (const { id, machine_id: machineId } of abandoned) {
    await app.db.transaction().execute(async (tx) => {
      const { numUpdatedRows } = await tx
        .updateTable('sessions')
        .set({ closed_at: sql`now()` })
        .where('id', '=', id)
        .where('closed_at', 'is', null)
        .executeTakeFirst()
      if (numUpdatedRows === 0n) return
      await appendEvent(tx, machineId, {
        type: 'session.disconnected',
        sessionId: id,
        message: 'idle for 24 hours',
      })
    })
  }
}

export async function sweepIdempotencyKeys(app: WorkerApp): Promise<void> {
  await app.db
    .deleteFrom('idempotency_keys')
    .where('created_at', '<', sql<Date>`now() - interval '24 hours'`)
    .execute()
}
