import type { MachineId, MachineSize, Meter, OrganizationId } from '@computer/contract'
import { sql, type RawBuilder } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { Database } from '../../db/database.ts'
import { cutIntervals, meterName, type UsageWindow } from '../events/meter-intervals.ts'
import { pageByKey, type Page, type PageRequest } from '../page.ts'
import { egressHours } from '../previews/egress.ts'
import { readWindow } from './usage-window.ts'

export type UsageRecord = {
  readonly meter: Meter
  readonly size: MachineSize | null
  readonly quantity: string
  readonly machine_id: MachineId
  readonly machine_name: string
  readonly start: Date
  readonly end: Date
}

export type UsageFilter = {
  readonly start?: string | undefined
  readonly end?: string | undefined
  readonly meter?: Meter | undefined
  readonly machine_id?: MachineId | undefined
}

type Row = UsageRecord & { readonly position: string }

/**
 * Usage records: the intervals of machines and disks cut to the window, and the bytes of each hour, newest
 * first; or, by machine, the sum of each of its meters.
 */
export async function listUsage(
  db: Database,
  { organizationId }: Pick<Actor, 'organizationId'>,
  query: PageRequest & UsageFilter & { readonly group_by?: 'machine' | undefined },
): Promise<Page<UsageRecord>> {
  const window = await windowOf(db, organizationId, query)
  return query.group_by === 'machine'
    ? pageByKey(
        query,
        machinePosition,
        ({ position }: Row) => position,
        (after, count) => readSums(db, organizationId, window, after, count),
      )
    : pageByKey(
        query,
        recordPosition,
        ({ position }: Row) => position,
        (after, count) => readRecords(db, organizationId, window, after, count),
      )
}

/** The window of a query with its filters. */
export async function windowOf(
  db: Database,
  organizationId: OrganizationId,
  query: UsageFilter,
): Promise<UsageWindow & { readonly now: Date }> {
  const { meter, machine_id: machineId } = query
  return { ...(await readWindow(db, organizationId, query)), meter, machineId }
}

/** Milliseconds since 1970, and a key of the record among those that began then. */
const recordPosition = /^\d{1,14} (?:i\d{19}|emch_[0-9a-z]{20,32})$/
const machinePosition = /^mch_[0-9a-z]{20,32} [a-z_]{1,40}$/

async function readRecords(
  db: Database,
  organizationId: OrganizationId,
  window: UsageWindow,
  after: string | null,
  count: number,
): Promise<Row[]> {
  const [ms, key] = after === null ? [null, null] : (after.split(' ') as [string, string])
  const at = ms === null ? null : new Date(Number(ms))
  const isAfter = (time: RawBuilder<unknown>, own: RawBuilder<unknown>) =>
    at === null
      ? sql`true`
      : sql`(${time} <= ${at} and (${time} < ${at} or ${own} collate "C" < ${key}))`
  const intervalKey = sql`'i' || lpad(id::text, 19, '0')`
  const page = sql`
    select * from (
      (select started_at as at, ${intervalKey} as key, ${meterName} as meter, size,
        ((last - first)::numeric * coalesce(bytes, 1))::text as quantity, machine_id, cut_start as start, cut_end as end
      from (${cutIntervals(organizationId, window)}) as cut
      where ${isAfter(sql`started_at`, intervalKey)}
      order by started_at desc, id desc limit ${count})
      union all
      (select hour, 'e' || machine_id, 'egress_bytes', null, bytes::text, machine_id,
        greatest(hour, ${window.start}),
        least(hour + interval '1 hour', ${window.end}, statement_timestamp())
      from (${egressHours(organizationId, window)}) as hours
      where ${isAfter(sql`hour`, sql`'e' || machine_id`)}
      order by hour desc, machine_id collate "C" desc limit ${count})
    ) as both_kinds
    order by at desc, key collate "C" desc limit ${count}`
  const { rows } = await sql<Row & { at: Date; key: string }>`
    ${withNames(page)} order by at desc, key collate "C" desc`.execute(db)
  return rows.map(({ at: began, key: own, ...row }) => ({
    ...row,
    position: `${began.getTime()} ${own}`,
  }))
}

async function readSums(
  db: Database,
  organizationId: OrganizationId,
  window: UsageWindow,
  after: string | null,
  count: number,
): Promise<Row[]> {
  const [machineId, meter] = after === null ? [null, null] : after.split(' ')
  const page = sql`
    select * from (
      select machine_id, ${meterName} as meter, size,
        sum(seconds * coalesce(bytes, 1))::text as quantity, min(start) as start, max("end") as end
      from (
        select machine_id, meter, size, bytes, sum(last - first) as seconds,
          min(cut_start) as start, max(cut_end) as end
        from (${cutIntervals(organizationId, window)}) as cut
        group by machine_id, meter, size, bytes
      ) as of_bytes
      group by machine_id, 2, size
      union all
      select machine_id, 'egress_bytes', null, sum(bytes)::text, greatest(min(hour), ${window.start}),
        least(max(hour) + interval '1 hour', ${window.end}, statement_timestamp())
      from (${egressHours(organizationId, window)}) as hours
      group by machine_id
    ) as sums
    where ${machineId}::text is null
      or machine_id collate "C" < ${machineId}
      or (machine_id = ${machineId} and meter collate "C" > ${meter})
    order by machine_id collate "C" desc, meter collate "C" limit ${count}`
  const { rows } = await sql<UsageRecord>`
    ${withNames(page)} order by machine_id collate "C" desc, meter collate "C"`.execute(db)
  return rows.map((row) => ({ ...row, position: `${row.machine_id} ${row.meter}` }))
}

/** The rows of a page, with the names that their machines have or had last. */
function withNames(page: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select page.*, machines.name as machine_name from (${page}) as page
    join machines on machines.id = page.machine_id`
}
