import type { OrganizationId } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { Tx, WebhookRow } from '../../db/database.ts'
import { readActivityAfter, readLastActivity } from '../activity/outbox.ts'
import { showActivity } from '../activity/show-activity.ts'
import { readLastPosition, readOrganizationEvents } from '../events/outbox.ts'
import { showEvent } from '../events/show-event.ts'
import { insertDeliveries, type Message } from './messages.ts'

const batch = 500

/**
 * Makes the deliveries of what was placed after the positions of one webhook, and moves these on in the same transaction:
 * so each message has one delivery, whenever a worker is killed. Without an organization it takes a webhook of any.
 */
export async function fanOut(
  app: Pick<App, 'db'>,
  organizationId: OrganizationId | null,
): Promise<{
  /** The number of new deliveries. */
  readonly made: number
  /** False when no webhook was behind, so that there is nothing to do. */
  readonly more: boolean
}> {
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
    await insertDeliveries(tx, webhook, messages)
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

/** An enabled webhook whose organization has something after its positions, and that no other worker is at. */
async function findBehind(
  tx: Tx,
  organizationId: OrganizationId | null,
): Promise<WebhookRow | undefined> {
  return tx
    .selectFrom('webhooks as w')
    .selectAll()
    .where('w.disabled_reason', 'is', null)
    .$if(organizationId !== null, (query) => query.where('w.organization_id', '=', organizationId!))
    .where(
      sql<boolean>`(exists (
        select from machine_events e
        where e.organization_id = w.organization_id and e.position > w.event_position
      ) or exists (
        select from activity a
        where a.organization_id = w.organization_id and a.position > w.activity_position
      ))`,
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
