import type { WebhookId } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { Database, WebhookDeliveryRow, WebhookRow } from '../../db/database.ts'
import { allColumns } from '../../db/query-compiler.ts'
import { inMs } from '../claims.ts'
import { mailDisabled } from './mails.ts'
import type { Attempt } from './send.ts'

/*
 * Attempts to deliver. A claim takes a delivery for longer than an attempt lasts, by the database's clock. A worker that
 * dies in between leaves the delivery due again when its claim ends, and the receiver may get the message twice.
 */

/** The waits after each failure (Standard Webhooks 1.0). After the last one the delivery has failed. */
const waitsMs = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400].map((s) => s * 1000)
const jitter = 0.1
const failingFor = sql`interval '5 days'`
/** A receiver that hangs keeps no others waiting; one that fails gets a message at a time until it accepts one. */
const mostPerWebhook = 8

export type DueDelivery = WebhookDeliveryRow & { readonly webhook: WebhookRow }

/**
 * Claims up to `limit` deliveries that are due, of all webhooks that have room, in a random order of the webhooks, so that
 * no webhook is always the last; of each webhook those first that have been due longest.
 */
export async function claimDeliveries(
  db: Database,
  {
    limit,
    inFlight,
    claimMs,
  }: {
    readonly limit: number
    /** How many deliveries of each webhook this worker is sending. */
    readonly inFlight: ReadonlyMap<WebhookId, number>
    readonly claimMs: number
  },
): Promise<DueDelivery[]> {
  // The index gives each webhook with pending deliveries in one step, however many these are.
  const { rows } = await sql<WebhookDeliveryRow>`
    with recursive waiting (id) as (
      (select min(webhook_id) from webhook_deliveries where state = 'pending')
      union all
      select (
        select min(webhook_id) from webhook_deliveries
        where state = 'pending' and webhook_id > waiting.id
      ) from waiting where waiting.id is not null
    ), webhook as (
      select w.id, greatest(0,
        case when w.failing_since is null then ${mostPerWebhook}::int else 1 end - coalesce(flying.count, 0)
      ) as room
      from waiting join webhooks w on w.id = waiting.id
      left join unnest(${[...inFlight.keys()]}::text[], ${[...inFlight.values()]}::int[])
        as flying (id, count) on flying.id = w.id
      where w.disabled_reason is null
      order by random()
    )
    update webhook_deliveries
    set attempts = attempts + 1, next_attempt_at = ${inMs(claimMs)}
    where id = any(array(
      select due.id from webhook cross join lateral (
        select d.id from webhook_deliveries d
        where d.webhook_id = webhook.id and d.state = 'pending'
          and d.next_attempt_at <= clock_timestamp()
        order by d.next_attempt_at limit webhook.room
        for update skip locked
      ) as due limit ${limit}
    ))
    returning ${allColumns('webhook_deliveries')}`.execute(db)
  if (rows.length === 0) return []
  const webhooks = await readSigning(db, [...new Set(rows.map(({ webhook_id: id }) => id))])
  // A webhook that was deleted meanwhile has no deliveries either.
  return rows.flatMap((row) => {
    const webhook = webhooks.get(row.webhook_id)
    return webhook ? [{ ...row, webhook }] : []
  })
}

/** Webhooks with the secrets that sign now. */
async function readSigning(
  db: Database,
  ids: readonly WebhookId[],
): Promise<ReadonlyMap<WebhookId, WebhookRow>> {
  const isOver = sql<boolean>`coalesce(former_until <= clock_timestamp(), false)`
  const rows = await db
    .selectFrom('webhooks')
    .selectAll()
    .select(isOver.as('is_over'))
    .where('id', 'in', ids)
    .execute()
  return new Map(
    rows.map(({ is_over: over, ...row }) => [row.id, over ? { ...row, former_sealed: null } : row]),
  )
}

/** A delivery, and the status with which its receiver accepted it. */
export type Accepted = {
  readonly delivery: DueDelivery
  readonly status: number
}

/** Records what was accepted, but not deliveries that were claimed again meanwhile. */
export async function recordAccepted(db: Database, accepted: readonly Accepted[]): Promise<void> {
  const ids = accepted.map(({ delivery }) => delivery.id)
  // Rows that are locked are skipped: to wait for one while holding others could be a deadlock with a deletion of
  // the webhook. Such a message is delivered again.
  await sql`
    update webhook_deliveries as d
    set state = 'delivered', failures = 0, next_attempt_at = null, last_status = done.status,
      last_error = null, delivered_at = clock_timestamp()
    from unnest(
      ${ids}::text[], ${accepted.map(({ delivery }) => delivery.attempts)}::int[],
      ${accepted.map(({ status }) => status)}::int[]
    ) as done (id, attempts, status)
    where d.id = done.id and d.attempts = done.attempts and d.id = any(array(
      select id from webhook_deliveries where id = any(${ids}) for update skip locked
    ))`.execute(db)
  const webhooks = new Set(accepted.map(({ delivery }) => delivery.webhook_id))
  await db
    .updateTable('webhooks')
    .set({ failing_since: null })
    .where('id', 'in', [...webhooks])
    .where('failing_since', 'is not', null)
    .execute()
}

/**
 * Records a failure and schedules the next attempt, unless the delivery is due again or was claimed again meanwhile: then
 * that attempt decides. Resolves to whether the delivery has failed for good.
 */
export async function recordFailure(
  app: Pick<App, 'db' | 'config'>,
  delivery: DueDelivery,
  attempt: Attempt,
): Promise<boolean> {
  const waitMs = waitsMs[delivery.failures]
  // A statement of its own: a deletion of the webhook locks the two in the other order.
  const { numUpdatedRows } = await app.db
    .updateTable('webhook_deliveries')
    .set({
      state: waitMs === undefined ? 'failed' : 'pending',
      failures: delivery.failures + 1,
      next_attempt_at: waitMs === undefined ? null : inMs(waitMs * (1 + jitter * Math.random())),
      last_status: 'status' in attempt ? attempt.status : null,
      last_error: 'error' in attempt ? attempt.error : null,
      delivered_at: null,
    })
    .where('id', '=', delivery.id)
    .where('attempts', '=', delivery.attempts)
    .where('next_attempt_at', '>', sql<Date>`clock_timestamp()`)
    .executeTakeFirstOrThrow()
  if (numUpdatedRows === 0n) return false
  await noteFailure(app, delivery.webhook, attempt)
  return waitMs === undefined
}

/** A receiver that answers that it is gone is disabled, and so is one that has failed for five days. */
async function noteFailure(
  { db, config }: Pick<App, 'db' | 'config'>,
  { id, url, organization_id: organizationId }: WebhookRow,
  attempt: Attempt,
): Promise<void> {
  const isGone = 'status' in attempt && attempt.status === 410
  await db.transaction().execute(async (tx) => {
    const noted = await tx
      .updateTable('webhooks')
      .set({
        failing_since: sql`coalesce(failing_since, clock_timestamp())`,
        disabled_reason: isGone
          ? 'gone'
          : sql`case when failing_since < clock_timestamp() - ${failingFor} then 'failing' end`,
      })
      .where('id', '=', id)
      // The answer is about the address that it came from, and of two answers one disables.
      .where('url', '=', url)
      .where('disabled_reason', 'is', null)
      .returning('disabled_reason')
      .executeTakeFirst()
    const reason = noted?.disabled_reason
    if (reason === 'gone' || reason === 'failing') {
      await mailDisabled(tx, config, { organizationId, url, reason })
    }
  })
}
