import type { Meter } from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { Database } from '../../db/database.ts'
import { cutIntervals, meterName, type UsageWindow } from '../events/meter-intervals.ts'
import { egressHours } from '../previews/egress.ts'
import { bucketSecondsOf } from '../rating-buckets.ts'
import { windowOf, type UsageFilter } from './usage-window.ts'

export type UsagePoint = {
  readonly start: Date
  readonly meter: Meter
  /** A decimal string. */
  readonly quantity: string
}

/** Usage in buckets of an hour or a day, the oldest first. Empty buckets are absent. */
export async function readSeries(
  db: Database,
  { organizationId }: Pick<Actor, 'organizationId'>,
  query: UsageFilter,
): Promise<{ readonly bucketSeconds: number; readonly points: readonly UsagePoint[] }> {
  const window = await windowOf(db, organizationId, query)
  const { start, end, now } = window
  // Nothing is used after now, so a window that goes on until the end of the month is no longer for it.
  const bucketSeconds = bucketSecondsOf({ start, end: end < now ? end : now })
  const points = await sumBuckets(db, organizationId, window, bucketSeconds)
  return { bucketSeconds, points }
}

/**
 * The sums of buckets of any width, aligned to 1970. Every whole second counts in the bucket in which it
 * begins, as it does in a window, so that the sum of a series is exactly the usage of its window.
 */
export async function sumBuckets(
  db: Database,
  organizationId: Actor['organizationId'],
  window: UsageWindow,
  bucketSeconds: number,
): Promise<UsagePoint[]> {
  const width = sql`${bucketSeconds}::bigint`
  const { rows } = await sql<UsagePoint>`
    with parts as (
      select bucket, ${meterName} as meter, seconds * coalesce(bytes, 1) as quantity
      from (
        select bucket, meter, size, bytes,
          sum(least(last, (bucket + 1) * ${width}) - greatest(first, bucket * ${width})) as seconds
        from (${cutIntervals(organizationId, window)}) as cut,
          generate_series(first / ${width}, (last - 1) / ${width}) as bucket
        group by bucket, meter, size, bytes
      ) as of_bytes
      union all
      select floor(extract(epoch from hour))::bigint / ${width}, 'egress_bytes', bytes
      from (${egressHours(organizationId, window)}) as hours
    )
    select to_timestamp(bucket * ${width}) as start, meter, sum(quantity)::text as quantity
    from parts
    group by bucket, meter
    having sum(quantity) > 0
    order by bucket, meter collate "C"`.execute(db)
  return rows
}
