import { sql } from 'kysely'
import type { Database, WebhookDeliveryRow, WebhookRow } from '../../db/database.ts'
import { firstIdAt, newId } from '../../ids.ts'
import { anyLocked } from '../claims.ts'

/** An entry of a log as the API returns it. Its id is that of the message. */
export type Message = {
  readonly id: string
  readonly machine_id: string | null
  readonly type: string
  readonly occurred_at: string
}

/** Queues the messages that the webhook has no delivery of, and returns their deliveries. */
export async function insertDeliveries(
  db: Database,
  { id }: Pick<WebhookRow, 'id'>,
  messages: readonly Message[],
): Promise<WebhookDeliveryRow[]> {
  if (messages.length === 0) return []
  const rows = messages.map((message) => ({
    id: newId('whd'),
    webhook_id: id,
    message_id: message.id,
    type: message.type,
    payload: JSON.stringify({ type: message.type, timestamp: message.occurred_at, data: message }),
  }))
  return db
    .insertInto('webhook_deliveries')
    .values(rows)
    .onConflict((known) => known.columns(['webhook_id', 'message_id']).doNothing())
    .returningAll()
    .execute()
}

const keptMs = 30 * 86_400_000
const sweepBatch = 5_000

/** Deletes deliveries that are older than 30 days, and former secrets that sign no more. */
export async function sweepWebhooks(db: Database): Promise<void> {
  await db
    .updateTable('webhooks')
    .set({ former_sealed: null, former_until: null })
    .where('former_until', '<', sql<Date>`clock_timestamp()`)
    .execute()
  const old = db
    .selectFrom('webhook_deliveries')
    .select('id')
    .where('id', '<', firstIdAt('whd', Date.now() - keptMs))
  for (;;) {
    const { numDeletedRows } = await db
      .deleteFrom('webhook_deliveries')
      .where('id', '=', anyLocked(old, 'webhook_deliveries', sweepBatch))
      .executeTakeFirstOrThrow()
    if (numDeletedRows < BigInt(sweepBatch)) return
  }
}
