import type { OrganizationId } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { Database, Tx, WebhookRow } from '../../db/database.ts'
import { showActivity } from '../../http/show-activity.ts'
import { showEvent } from '../../http/show-event.ts'
import { newId } from '../../ids.ts'
import { readActivityAfter, readLastActivity } from '../activity/outbox.ts'
import { readLastPosition, readOrganizationEvents } from '../events/outbox.ts'

const batch = 500

type Message = {
  readonly id: string
  readonly machine_id: string
  readonly type: string
  readonly occurred_at: string
}

/**
 * Makes the deliveries of what was placed after a webhook's positions, and moves them on in the same transaction: so each
 * message has one delivery, whenever a worker is killed. Resolves to whether any were made, and to whether there
 * may be more.
 */
export async function fanOut(
  app: Pick<App, 'db'>,
  organizationId: OrganizationId | null,
): Promise<{ readonly made: number; readonly more: boolean }> {
  return app.db.transaction().execute(async (tx) => {
    const webhook = await findBehind(tx, organizationId)
    if (!webhook) return { made: 0, more: false }
    // Read first: what is placed up to there can be read, and nothing comes before it later.
    const [lastEvent, lastActivity] = [await readLastPosition(tx), await readLastActivity(tx)]
    const { organization_id: owner, machine_id: machineId } = webhook
    const events = await readOrganizationEvents(tx, owner, webhook.event_position, batch)
    const where = { organizationId: owner, machineId }
    const activity = await readActivityAfter(tx, where, webhook.activity_position, batch)
    const isWanted = ({ type, machine_id }: Message) =>
      (webhook.types === null || webhook.types.includes(type)) &&
      (machineId === null || machine_id === machineId)
    const messages = [...events.map(showEvent), ...activity.map(showActivity)].filter(isWanted)
    if (webhook.disabled_reason === null) await insertDeliveries(tx, webhook, messages)
    await tx
      .updateTable('webhooks')
      .set({
        event_position: reached(events, lastEvent),
        activity_position: reached(activity, lastActivity),
      })
      .where('id', '=', webhook.id)
      .execute()
    return { made: messages.length, more: true }
  })
}

/** A webhook whose organization has what it has not read, and that no other worker is at. */
async function findBehind(
  tx: Tx,
  organizationId: OrganizationId | null,
): Promise<WebhookRow | undefined> {
  return tx
    .selectFrom('webhooks as w')
    .selectAll()
    .$if(organizationId !== null, (query) => query.where('w.organization_id', '=', organizationId!))
    .where(
      sql<boolean>`exists (
        select from machine_events e
        where e.organization_id = w.organization_id and e.position > w.event_position
      ) or exists (
        select from activity a
        where a.organization_id = w.organization_id and a.position > w.activity_position
      )`,
    )
    .orderBy('w.id')
    .limit(1)
    .forUpdate()
    .skipLocked()
    .executeTakeFirst()
}

/** The position up to which everything was read: that of the last row, or of all that was placed before the read. */
function reached(rows: readonly { readonly position: number | null }[], last: number): number {
  const read = rows.at(-1)?.position
  return rows.length === batch && read ? read : Math.max(last, read ?? 0)
}

export async function insertDeliveries(
  db: Database,
  { id }: Pick<WebhookRow, 'id'>,
  messages: readonly Message[],
): Promise<void> {
  if (messages.length === 0) return
  const rows = messages.map((message) => ({
    id: newId('whd'),
    webhook_id: id,
    message_id: message.id,
    type: message.type,
    payload: JSON.stringify({ type: message.type, timestamp: message.occurred_at, data: message }),
  }))
  await db
    .insertInto('webhook_deliveries')
    .values(rows)
    .onConflict((known) => known.columns(['webhook_id', 'message_id']).doNothing())
    .execute()
}

/** Deletes deliveries that are older than 30 days. */
export async function sweepDeliveries(db: Database): Promise<void> {
  await db
    .deleteFrom('webhook_deliveries')
    .where('created_at', '<', sql<Date>`now() - interval '30 days'`)
    .execute()
}
