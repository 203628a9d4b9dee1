import type { OrganizationId } from '@computer/contract'
import { sql, type RawBuilder } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { Database } from '../../db/database.ts'
import { invalid } from '../../errors.ts'
import { cutIntervals, meterName, type UsageWindow } from '../events/meter-intervals.ts'
import { pageByKey, type Page, type PageRequest } from '../page.ts'
import { egressHours } from '../previews/egress.ts'
import { withNames, type UsageRecord } from './usage-names.ts'

export type Grouping = 'machine' | 'key' | 'label'

type Request = PageRequest & {
  readonly by: Grouping
  readonly label_key?: string | undefined
  readonly label_value?: string | undefined
}

type Row = Omit<UsageRecord, 'labels'> & {
  readonly position: string
  readonly label_value: string | null
}

/** The sum of each meter of each group in a window. Usage without the label is a group as well. */
export async function listSums(
  db: Database,
  { organizationId }: Pick<Actor, 'organizationId'>,
  { label, ...window }: UsageWindow,
  request: Request,
): Promise<Page<UsageRecord>> {
  const { by, label_key: key, label_value: value } = request
  if (by === 'label' && key === undefined) {
    const message = 'is required with group_by=label'
    throw invalid(`query: label_key: ${message}`, [{ field: 'label_key', message }])
  }
  const scope = by === 'label' && value === undefined ? window : { ...window, label }
  const group = groupBy(by, key)
  const page = await pageByKey(
    request,
    position,
    (row: Row) => row.position,
    (after, count) => readSums(db, organizationId, scope, { group, after, count }),
  )
  return {
    ...page,
    data: page.data.map(({ label_value: of, ...row }) => ({
      ...row,
      labels: key === undefined || of === null ? {} : { [key]: of },
    })),
  }
}

/** The key of a group, and a meter. */
const position = /^[a-z0-9_-]{0,60} [a-z_]{1,40}$/

/** The columns that make a group, and a key that orders groups. */
type Group = Record<'key' | 'machine' | 'actorType' | 'actorId' | 'label', RawBuilder<unknown>>

function groupBy(by: Grouping, labelKey: string | undefined): Group {
  const none = sql`null::text`
  const group = { machine: none, actorType: none, actorId: none, label: none }
  if (by === 'machine') return { ...group, key: sql`machine_id`, machine: sql`machine_id` }
  if (by === 'key') {
    const [actorType, actorId] = [sql`actor_type`, sql`actor_id`]
    return { ...group, key: sql`coalesce(actor_id, '')`, actorType, actorId }
  }
  const label = sql`labels ->> ${labelKey}::text`
  return { ...group, key: sql`coalesce(md5(${label}), '')`, label }
}

async function readSums(
  db: Database,
  organizationId: OrganizationId,
  window: UsageWindow,
  { group, after, count }: { readonly group: Group; readonly after: string | null; count: number },
): Promise<Row[]> {
  const [key, meter] = after === null ? [null, null] : (after.split(' ') as [string, string])
  const columns = sql`
    ${group.key} as key, ${group.machine} as machine_id, ${group.actorType} as actor_type,
    ${group.actorId} as actor_id, ${group.label} as label_value`
  const page = sql`
    select * from (
      select key, machine_id, actor_type, actor_id, label_value, ${meterName} as meter, size,
        sum(seconds * coalesce(bytes, 1))::text as quantity, min(start) as start, max("end") as end
      from (
        select ${columns}, meter, size, bytes, sum(last - first) as seconds,
          min(cut_start) as start, max(cut_end) as end
        from (${cutIntervals(organizationId, window)}) as cut
        group by 1, 2, 3, 4, 5, meter, size, bytes
      ) as of_bytes
      group by key, machine_id, actor_type, actor_id, label_value, 6, size
      union all
      select ${columns}, 'egress_bytes', null, sum(bytes)::text, greatest(min(hour), ${window.start}),
        least(max(hour) + interval '1 hour', ${window.end}, statement_timestamp())
      from (${egressHours(organizationId, window)}) as hours
      group by 1, 2, 3, 4, 5
    ) as sums
    where ${key}::text is null
      or key collate "C" < ${key}
      or (key = ${key} and meter collate "C" > ${meter})
    order by key collate "C" desc, meter collate "C" limit ${count}`
  const { rows } = await sql<Row & { key: string }>`
    ${withNames(page)} order by key collate "C" desc, meter collate "C"`.execute(db)
  return rows.map(({ key: own, ...row }) => ({ ...row, position: `${own} ${row.meter}` }))
}
