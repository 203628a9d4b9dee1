import { sql } from 'kysely'
import type { Database, WebhookDeliveryRow, WebhookRow } from '../../db/database.ts'
import { allColumns } from '../../db/query-compiler.ts'
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
  const ids = messages.map(() => newId('whd'))
  const messageIds = messages.map((message) => message.id)
  const types = messages.map(({ type }) => type)
  const payloads = messages.map((message) =>
    JSON.stringify({ type: message.type, timestamp: message.occurred_at, data: message }),
  )
  const { rows } = await sql<WebhookDeliveryRow>`
    insert into webhook_deliveries (webhook_id, id, message_id, type, payload)
    select ${id}, m.* from unnest(
      ${ids}::text[], ${messageIds}::text[], ${types}::text[], ${payloads}::text[]
    ) as m
    on conflict (webhook_id, message_id) do nothing
    returning ${allColumns('webhook_deliveries')}`.execute(db)
  return rows
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
