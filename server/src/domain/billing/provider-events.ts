import type { OrganizationId } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { Database } from '../../db/database.ts'
import type { ProviderEvent } from '../../payments/provider.ts'
import { anyLocked, inMs } from '../claims.ts'
import { refreshSubscription } from './subscriptions.ts'

/*
 * Notifications of the payment provider. One is stored before it is answered, and worked on later, so that
 * none is lost in between. Whatever it says, it only leads to a reading of its customer.
 */

const claimedFor = sql`interval '3 minutes'`
const keptFor = sql`interval '30 days'`
/** A purchase that began this long ago does not come about any more: its page has expired. */
const purchaseLasts = sql`interval '2 days'`
const maxAtOnce = 100

/** Stores a notification. A repeated one changes nothing. */
export async function storeEvent(db: Database, event: ProviderEvent): Promise<void> {
  const { id, type, customerId } = event
  await db
    .insertInto('provider_events')
    .values({ id, type, customer_id: customerId })
    .onConflict((same) => same.column('id').doNothing())
    .execute()
}

/** Claims notifications that are due, the oldest first. */
export async function claimEvents(db: Database) {
  const due = db
    .selectFrom('provider_events')
    .select('id')
    .where('applied_at', 'is', null)
    .where('next_attempt_at', '<=', sql<Date>`clock_timestamp()`)
    .orderBy('next_attempt_at')
  return db
    .updateTable('provider_events')
    .set({
      attempts: sql`attempts + 1`,
      next_attempt_at: sql`clock_timestamp() + ${claimedFor}`,
    })
    .where('id', '=', anyLocked(due, 'provider_events', maxAtOnce))
    .returningAll()
    .execute()
}

export type EventRow = Awaited<ReturnType<typeof claimEvents>>[number]

/** Reads the customer of claimed notifications, once for all of them. */
export async function applyEvents(
  app: Pick<App, 'db' | 'config' | 'log' | 'payments'>,
  customerId: string,
  events: readonly EventRow[],
): Promise<void> {
  const account = await app.db
    .selectFrom('billing_accounts')
    .select('organization_id')
    .where('customer_id', '=', customerId)
    .executeTakeFirst()
  if (account) await refreshSubscription(app, account.organization_id)
  else {
    const fields = { customer_id: customerId, types: events.map(({ type }) => type) }
    app.log.info(fields, 'the payment provider told of a customer who is not one of this server')
  }
  await app.db
    .updateTable('provider_events')
    .set({ applied_at: sql`clock_timestamp()`, error: null })
    .where('id', 'in', idsOf(events))
    .execute()
}

export async function postponeEvents(
  db: Database,
  events: readonly EventRow[],
  { reason, delayMs }: { readonly reason: string; readonly delayMs: number },
): Promise<void> {
  await db
    .updateTable('provider_events')
    .set({ error: reason, next_attempt_at: inMs(delayMs) })
    .where('id', 'in', idsOf(events))
    .execute()
}

/** Organizations whose subscription goes on, or may just have begun, and was not read for an hour. */
export async function listUnread(db: Database, limit: number): Promise<OrganizationId[]> {
  const rows = await db
    .selectFrom('billing_accounts')
    .select('organization_id')
    .where('customer_id', 'is not', null)
    .where((eb) =>
      eb.or([
        eb.and([eb('subscription_id', 'is not', null), eb('subscription_ended_at', 'is', null)]),
        eb('checkout_started_at', '>', sql<Date>`now() - ${purchaseLasts}`),
      ]),
    )
    .where((eb) =>
      eb.or([
        eb('customer_read_at', 'is', null),
        eb('customer_read_at', '<', sql<Date>`now() - interval '1 hour'`),
      ]),
    )
    .orderBy(sql`customer_read_at nulls first`)
    .limit(limit)
    .execute()
  return rows.map(({ organization_id }) => organization_id)
}

/** Subscriptions that go on although their organization was deleted. */
export async function listOrphaned(db: Database, limit: number) {
  return db
    .selectFrom('billing_accounts as a')
    .innerJoin('organizations as o', 'o.id', 'a.organization_id')
    .select(['a.organization_id', 'a.subscription_id'])
    .where('o.deleted_at', 'is not', null)
    .where('a.subscription_id', 'is not', null)
    .where('a.subscription_ended_at', 'is', null)
    .limit(limit)
    .execute()
}

export async function forgetOldEvents(db: Database): Promise<void> {
  await db
    .deleteFrom('provider_events')
    .where('received_at', '<', sql<Date>`now() - ${keptFor}`)
    .execute()
}

function idsOf(events: readonly EventRow[]): string[] {
  return events.map(({ id }) => id)
}
