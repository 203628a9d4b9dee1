import type { OrganizationId } from '@computer/contract'
import { sql, type RawBuilder } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { Database } from '../../db/database.ts'
import { cutIntervals, meterName, type UsageWindow } from '../events/meter-intervals.ts'
import { pageByKey, type Page, type PageRequest } from '../page.ts'
import { egressHours } from '../previews/egress.ts'
import { withNames, type UsageRecord } from './usage-names.ts'
import { listSums, type Grouping } from './usage-sums.ts'
import { windowOf, type UsageFilter } from './usage-window.ts'

/**
 * Usage records: the intervals of machines and disks cut to the window, and the bytes of each hour, newest
 * first; or the sums of groups.
 */
export async function listUsage(
  db: Database,
  actor: Pick<Actor, 'organizationId'>,
  query: PageRequest & UsageFilter & { readonly group_by?: Grouping | undefined },
): Promise<Page<UsageRecord>> {
  const window = await windowOf(db, actor.organizationId, query)
  return query.group_by === undefined
    ? listRecords(db, actor, window, query)
    : listSums(db, actor, window, { ...query, by: query.group_by })
}

/** Milliseconds since 1970, and a key of the record among those that began then. */
const position = /^\d{1,14} (?:i\d{19}|emch_[0-9a-z]{20,32} [0-9a-f]{32})$/

/** The records of a window, newest first. */
export function listRecords(
  db: Database,
  { organizationId }: Pick<Actor, 'organizationId'>,
  window: UsageWindow,
  page: PageRequest,
): Promise<Page<UsageRecord>> {
  return pageByKey(
    page,
    position,
    (row: Row) => row.position,
    (after, count) => readRecords(db, organizationId, window, after, count),
  )
}

type Row = UsageRecord & { readonly position: string }

async function readRecords(
  db: Database,
  organizationId: OrganizationId,
  window: UsageWindow,
  after: string | null,
  count: number,
): Promise<Row[]> {
  const [, ms, last] = /^(\d+) (.*)$/.exec(after ?? '') ?? []
  const at = ms === undefined ? null : new Date(Number(ms))
  const isAfter = (time: RawBuilder<unknown>, own: RawBuilder<unknown>) =>
    at === null
      ? sql`true`
      : sql`(${time} <= ${at} and (${time} < ${at} or ${own} collate "C" < ${last}))`
  const intervalKey = sql`'i' || lpad(id::text, 19, '0')`
  const egressKey = sql`'e' || machine_id || ' ' || key`
  const page = sql`
    select * from (
      (select started_at as at, ${intervalKey} as key, ${meterName} as meter, size,
        ((last - first)::numeric * coalesce(bytes, 1))::text as quantity, machine_id,
        actor_type, actor_id, labels, cut_start as start, cut_end as end
      from (${cutIntervals(organizationId, window)}) as cut
      where ${isAfter(sql`started_at`, intervalKey)}
      order by started_at desc, id desc limit ${count})
      union all
      (select hour, ${egressKey}, 'egress_bytes', null, bytes::text, machine_id,
        actor_type, actor_id, labels, greatest(hour, ${window.start}),
        least(hour + interval '1 hour', ${window.end}, statement_timestamp())
      from (${egressHours(organizationId, window)}) as hours
      where ${isAfter(sql`hour`, egressKey)}
      order by hour desc, ${egressKey} collate "C" desc limit ${count})
    ) as both_kinds
    order by at desc, key collate "C" desc limit ${count}`
  const { rows } = await sql<Row & { at: Date; key: string }>`
    ${withNames(page)} order by at desc, key collate "C" desc`.execute(db)
  return rows.map(({ at: began, key: own, ...row }) => ({
    ...row,
    position: `${began.getTime()} ${own}`,
  }))
}
