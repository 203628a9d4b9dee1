import type { OrganizationId, WebhookDeliveryId, WebhookId } from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { Database, Tx, WebhookDeliveryRow, WebhookRow } from '../../db/database.ts'
import { invalid, notFound } from '../../errors.ts'
import { newId } from '../../ids.ts'
import { mailOwners } from '../accounts/owner-mails.ts'
import { anyLocked, inMs } from '../claims.ts'
import { newestFirst, type PageRequest } from '../page.ts'
import { insertDeliveries } from './fan-out.ts'
import type { Attempt } from './send.ts'
import { getWebhook } from './webhooks.ts'

/** Longer than an attempt takes. A worker that dies meanwhile leaves the delivery due again. */
const claimedForMs = 30_000
/** The waits after each failure (Standard Webhooks 1.0). After the last one the delivery has failed. */
const waitsMs = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400].map((s) => s * 1000)
const jitter = 0.1
const failingFor = sql`interval '5 days'`

export type DueDelivery = WebhookDeliveryRow & {
  readonly webhook: WebhookRow
}

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

/** Queues a message of a type that nothing else has. */
export async function sendTest(
  app: Pick<App, 'db' | 'changes'>,
  actor: Actor,
  id: WebhookId,
): Promise<WebhookDeliveryRow> {
  const { organization_id: organizationId } = await getWebhook(app.db, actor, id)
  const messageId = newId('tst')
  const occurredAt = new Date().toISOString()
  const message = { id: messageId, machine_id: '', type: 'webhook.test', occurred_at: occurredAt }
  await insertDeliveries(app.db, { id }, [message])
  app.changes.publish(organizationId, 'deliveries')
  return app.db
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('webhook_id', '=', id)
    .where('message_id', '=', messageId)
    .executeTakeFirstOrThrow()
}

/** Delivers again, now. A delivery that is pending is tried at once. */
export async function retryDelivery(
  app: Pick<App, 'db' | 'changes'>,
  actor: Actor,
  id: WebhookId,
  deliveryId: WebhookDeliveryId,
): Promise<WebhookDeliveryRow> {
  const { organization_id: organizationId } = await getWebhook(app.db, actor, id)
  const delivery = await app.db
    .updateTable('webhook_deliveries')
    .set(again)
    .where('webhook_id', '=', id)
    .where('id', '=', deliveryId)
    .returningAll()
    .executeTakeFirst()
  if (!delivery) throw notFound(`delivery ${deliveryId}`)
  app.changes.publish(organizationId, 'deliveries')
  return delivery
}

const again = {
  state: 'pending' as const,
  failures: 0,
  next_attempt_at: sql<Date>`clock_timestamp()`,
  delivered_at: null,
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
  const { organization_id: organizationId } = await getWebhook(app.db, actor, id)
  const { numUpdatedRows } = await app.db
    .updateTable('webhook_deliveries')
    .set(again)
    .where('webhook_id', '=', id)
    .where('created_at', '>=', from)
    .where('state', 'in', state === undefined ? ['delivered', 'failed'] : [state])
    .executeTakeFirstOrThrow()
  app.changes.publish(organizationId, 'deliveries')
  return Number(numUpdatedRows)
}

/** Claims the deliveries that have been due longest, but none of webhooks that are at their limit. */
export async function claimDeliveries(
  db: Database,
  { limit, busy }: { readonly limit: number; readonly busy: readonly WebhookId[] },
): Promise<DueDelivery[]> {
  const due = db
    .selectFrom('webhook_deliveries')
    .innerJoin('webhooks', 'webhooks.id', 'webhook_deliveries.webhook_id')
    .select('webhook_deliveries.id')
    .where('webhook_deliveries.state', '=', 'pending')
    .where('webhook_deliveries.next_attempt_at', '<=', sql<Date>`clock_timestamp()`)
    .where('webhooks.disabled_reason', 'is', null)
    .$if(busy.length > 0, (query) => query.where('webhooks.id', 'not in', [...busy]))
    .orderBy('webhook_deliveries.next_attempt_at')
  const claimed = await db
    .updateTable('webhook_deliveries')
    .set({ attempts: sql`attempts + 1`, next_attempt_at: inMs(claimedForMs) })
    .where('id', '=', anyLocked(due, 'webhook_deliveries', limit))
    .returningAll()
    .execute()
  if (claimed.length === 0) return []
  const webhooks = await db
    .selectFrom('webhooks')
    .selectAll()
    .where('id', 'in', [...new Set(claimed.map(({ webhook_id: id }) => id))])
    .execute()
  return claimed.flatMap((row) => {
    const webhook = webhooks.find(({ id }) => id === row.webhook_id)
    return webhook ? [{ ...row, webhook }] : []
  })
}

/** Records what came of an attempt, unless the delivery was claimed again meanwhile. */
export async function recordAttempt(
  app: Pick<App, 'db' | 'config' | 'log'>,
  delivery: DueDelivery,
  attempt: Attempt,
): Promise<void> {
  const { webhook } = delivery
  const isDelivered = 'status' in attempt && attempt.status >= 200 && attempt.status < 300
  await app.db.transaction().execute(async (tx) => {
    const waitMs = isDelivered ? undefined : waitsMs[delivery.failures]
    const { numUpdatedRows } = await tx
      .updateTable('webhook_deliveries')
      .set({
        state: isDelivered ? 'delivered' : waitMs === undefined ? 'failed' : 'pending',
        failures: isDelivered ? 0 : delivery.failures + 1,
        next_attempt_at: waitMs === undefined ? null : inMs(waitMs * (1 + jitter * Math.random())),
        last_status: 'status' in attempt ? attempt.status : null,
        last_error: 'error' in attempt ? attempt.error : null,
        delivered_at: isDelivered ? sql<Date>`clock_timestamp()` : null,
      })
      .where('id', '=', delivery.id)
      .where('attempts', '=', delivery.attempts)
      .executeTakeFirstOrThrow()
    if (numUpdatedRows === 0n) return
    if (isDelivered) await endFailing(tx, webhook)
    else await noteFailure(tx, app, webhook, attempt)
  })
}

async function endFailing(tx: Tx, { id, failing_since: since }: WebhookRow): Promise<void> {
  if (since === null) return
  await tx.updateTable('webhooks').set({ failing_since: null }).where('id', '=', id).execute()
}

/** A receiver that says that it is gone is disabled, and so is one that has failed for five days. */
async function noteFailure(
  tx: Tx,
  app: Pick<App, 'config'>,
  webhook: WebhookRow,
  attempt: Attempt,
): Promise<void> {
  const isGone = 'status' in attempt && attempt.status === 410
  const { disabled_reason: reason } = await tx
    .updateTable('webhooks')
    .set({
      failing_since: sql`coalesce(failing_since, clock_timestamp())`,
      disabled_reason: isGone
        ? 'gone'
        : sql`case when failing_since < clock_timestamp() - ${failingFor} then 'failing'
            else disabled_reason end`,
    })
    .where('id', '=', webhook.id)
    .returning('disabled_reason')
    .executeTakeFirstOrThrow()
  if (reason === null || reason === 'user' || webhook.disabled_reason !== null) return
  await mailDisabled(tx, app, webhook.organization_id, webhook, reason)
}

async function mailDisabled(
  tx: Tx,
  { config }: Pick<App, 'config'>,
  organizationId: OrganizationId,
  { url }: WebhookRow,
  reason: 'gone' | 'failing',
): Promise<void> {
  const { host } = new URL(url)
  const why =
    reason === 'gone'
      ? 'The receiver answered that it is gone (410).'
      : 'Nothing could be delivered to it for five days.'
  await mailOwners(tx, config, organizationId, (name) => ({
    subject: `A webhook of ${name} was disabled`,
    body: `The webhook of ${name} at ${host} was disabled.

${why}

Enable it again when the receiver works, and replay what failed. What happens until then is not delivered later:
${config.dashboardUrl}/webhooks
`,
  }))
}
