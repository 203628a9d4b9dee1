import { sql, type RawBuilder } from 'kysely'

/*
 * The windows of budgets are days, ISO weeks and months in UTC. All of their boundaries are whole hours, but
 * for the start of `once`, which is the creation of the budget.
 */

/** The start of the window of a budget `b` that contains a time. */
export function windowStart(at: RawBuilder<unknown>): RawBuilder<Date> {
  return sql`(case b."window" when 'once' then b.created_at
    else date_trunc(b."window", ${at}, 'UTC') end)`
}

/** The end of the same window; null if it has none. */
export function windowEnd(at: RawBuilder<unknown>): RawBuilder<Date | null> {
  // Intervals are added to local times of UTC, so that the time zone of the session does not matter.
  return sql`(case b."window" when 'once' then null
    else (date_trunc(b."window", (${at}) at time zone 'UTC') + ('1 ' || b."window")::interval)
      at time zone 'UTC' end)`
}
