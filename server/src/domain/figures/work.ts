import { sql, type RawBuilder } from 'kysely'
import type { Tx } from '../../db/database.ts'
import { dueMachines } from '../machines/work-queue.ts'
import { isUndelivered } from '../secrets/deliveries.ts'

/*
 * Work that waits for a worker. It is due from a time on, and a worker that keeps up takes it within seconds. Work that
 * is under way, or that waits for its next attempt, is not waiting; work that has failed before is counted apart.
 */

export type Work = {
  readonly kind: WorkKind
  /** Due, and nobody works on it. */
  readonly waiting: number
  /** How long the oldest of it has been due. */
  readonly oldest_seconds: number
  /** Has failed at least once, and is tried again. */
  readonly retrying: number
}

/** More than this many rows of a kind are not counted. */
const mostCounted = 10_000

const isDue = sql`next_attempt_at <= clock_timestamp()`
const isUnclaimed = sql`(claimed_until is null or claimed_until < clock_timestamp())`
const isWaiting = sql`(${isDue} and ${isUnclaimed})`

/** Each query has a row for each piece of work: since when it is due or null while it does not wait, and its failures. */
const sources = {
  machines: sql`
    select case when ${isUnclaimed} then next_attempt_at end as since, 0 as failures from machines
    where id = any(array(${dueMachines}))
    union all
    select null, attempts from machines
    where deleted_at is null and state in ('creating', 'stopping', 'starting', 'deleting') and attempts > 0`,
  captures: sql`
    select case when ${isWaiting} then next_attempt_at end as since, attempts as failures from captures
    where state = 'pending'`,
  capture_removals: sql`
    select case when ${isWaiting} then next_attempt_at end as since, attempts as failures from captures
    where state = 'deleting'`,
  capture_copies: sql`
    select case when ${isWaiting} then next_attempt_at end as since, attempts as failures from capture_copies
    where host = any(array(select name from hosts)) and state = 'wanted'`,
  relocations: sql`
    select phase_since as since, (phase = 'failed')::int as failures from relocations`,
  secret_deliveries: sql`
    select
      case when d.next_attempt_at <= clock_timestamp()
        and (d.claimed_until is null or d.claimed_until < clock_timestamp()) then d.next_attempt_at end as since,
      d.attempts as failures
    from secret_deliveries d join machines m on m.id = d.id
    where m.deleted_at is null and m.state = 'running' and ${isUndelivered}`,
  warm_machines: sql`
    select case when ${isWaiting} then next_attempt_at end as since, attempts as failures from warm_machines
    where state != 'ready'`,
  events: sql`
    select occurred_at as since, 0 as failures from machine_events where position is null
    order by occurred_at`,
  activity: sql`
    select occurred_at as since, 0 as failures from activity where position is null order by id`,
  // The messages of a webhook whose receiver fails wait for the receiver.
  webhook_deliveries: sql`
    select case when d.next_attempt_at <= clock_timestamp() and w.failing_since is null
      then d.next_attempt_at end as since, d.failures
    from webhook_deliveries d join webhooks w on w.id = d.webhook_id
    where d.state = 'pending' and w.disabled_reason is null`,
  mails: sql`
    select case when ${isDue} then next_attempt_at end as since, attempts as failures from mails
    order by next_attempt_at`,
  payment_events: sql`
    select case when ${isDue} then next_attempt_at end as since, attempts as failures
    from provider_events where applied_at is null`,
} satisfies Record<string, RawBuilder<unknown>>

export type WorkKind = keyof typeof sources

const everyKind = sql.join(
  Object.entries(sources).map(
    ([kind, source]) => sql`
      select ${sql.lit(kind)} as kind, count(since)::int as waiting,
        count(*) filter (where failures > 0)::int as retrying,
        coalesce(extract(epoch from clock_timestamp() - min(since)), 0)::float8 as oldest_seconds
      from (select * from (${source}) as one limit ${sql.lit(mostCounted)}) as work`,
  ),
  sql` union all `,
)

export async function readWork(tx: Tx): Promise<readonly Work[]> {
  const { rows } = await everyKind.$castTo<Work>().execute(tx)
  return rows
}
