import type { WebhookDeliveryId, WebhookId } from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { Database, Tx, WebhookDeliveryRow, WebhookRow } from '../../db/database.ts'
import { conflict, invalid, notFound } from '../../errors.ts'
import { newId } from '../../ids.ts'
import { newestFirst, type PageRequest } from '../page.ts'
import { insertDeliveries } from './messages.ts'
import { getWebhook, lockWebhook } from './webhooks.ts'

/** Deliveries of a webhook, newest first. */
export async function listDeliveries(
  db: Database,
  actor: Actor,
  id: WebhookId,
  { state, ...page }: PageRequest & { readonly state?: WebhookDeliveryRow['state'] | undefined },
) {
  await getWebhook(db, actor, id)
  const rows = db
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('webhook_id', '=', id)
    .$if(state !== undefined, (query) => query.where('state', '=', state!))
  return newestFirst('whd', page, rows)
}

/** Queues a message of the type `webhook.test`. */
export async function sendTest(
  app: Pick<App, 'db' | 'changes'>,
  actor: Actor,
  id: WebhookId,
): Promise<WebhookDeliveryRow> {
  const message = {
    id: newId('tst'),
    organization_id: actor.organizationId,
    machine_id: null,
    type: 'webhook.test',
    occurred_at: new Date().toISOString(),
  }
  return deliverNow(app, actor, id, async (tx) => {
    const [delivery] = await insertDeliveries(tx, { id }, [message])
    return delivery!
  })
}

/** Delivers again, now. A delivery that is pending is tried at once. */
export async function retryDelivery(
  app: Pick<App, 'db' | 'changes'>,
  actor: Actor,
  id: WebhookId,
  deliveryId: WebhookDeliveryId,
): Promise<WebhookDeliveryRow> {
  return deliverNow(app, actor, id, async (tx) => {
    const delivery = await tx
      .updateTable('webhook_deliveries')
      .set(again)
      .where('webhook_id', '=', id)
      .where('id', '=', deliveryId)
      .returningAll()
      .executeTakeFirst()
    if (!delivery) throw notFound(`delivery ${deliveryId}`)
    return delivery
  })
}

/** Delivers all messages since a time again, with the ids that they had. Resolves to their number. */
export async function replayDeliveries(
  app: Pick<App, 'db' | 'changes'>,
  actor: Actor,
  id: WebhookId,
  { since, state }: { readonly since: string; readonly state?: 'delivered' | 'failed' | undefined },
): Promise<number> {
  const from = new Date(since)
  if (from.getTime() > Date.now()) {
    const message = 'must be in the past'
    throw invalid(`since ${message}`, [{ field: 'since', message }])
  }
  const { numUpdatedRows } = await deliverNow(app, actor, id, (tx) =>
    tx
      .updateTable('webhook_deliveries')
      .set(again)
      .where('webhook_id', '=', id)
      .where('created_at', '>=', from)
      .where('state', 'in', state === undefined ? ['delivered', 'failed'] : [state])
      .executeTakeFirstOrThrow(),
  )
  return Number(numUpdatedRows)
}

const again = {
  state: 'pending' as const,
  failures: 0,
  next_attempt_at: sql<Date>`clock_timestamp()`,
  delivered_at: null,
}

/** Makes deliveries of an enabled webhook due, and wakes the workers. */
async function deliverNow<T>(
  app: Pick<App, 'db' | 'changes'>,
  actor: Actor,
  id: WebhookId,
  change: (tx: Tx) => Promise<T>,
): Promise<T> {
  const result = await app.db.transaction().execute(async (tx) => {
    requireEnabled(await lockWebhook(tx, actor, id))
    return change(tx)
  })
  app.changes.publish(actor.organizationId, 'deliveries')
  return result
}

function requireEnabled({ id, disabled_reason: reason }: WebhookRow): void {
  if (reason === null) return
  throw conflict(`webhook ${id} is disabled, so nothing is sent to it; enable it first`)
}
