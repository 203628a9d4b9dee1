import type { MachineId, Meter, OrganizationId } from '@computer/contract'
import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'
import { cutIntervals, type UsageWindow } from '../events/meter-intervals.ts'
import { egressHours } from '../previews/egress.ts'
import { withNames, type UsageRecord } from './usage-names.ts'

export type DailyUsage = Pick<UsageRecord, 'actor_type' | 'actor_id' | 'actor_name' | 'labels'> & {
  /** The first moment of the day in UTC, which may be before the window. */
  readonly day: Date
  readonly machine_id: MachineId
  readonly machine_name: string
  readonly quantity: bigint
}

/** The usage of a meter by each machine on each day, by caller and labels. The sum is the usage of the window. */
export async function readDailyUsage(
  db: Database,
  organizationId: OrganizationId,
  window: UsageWindow & { readonly meter: Meter },
): Promise<DailyUsage[]> {
  const used =
    window.meter === 'egress_bytes'
      ? sql`
        select machine_id, actor_type, actor_id, labels, date_trunc('day', hour, 'UTC') as day,
          sum(bytes) as quantity
        from (${egressHours(organizationId, window)}) as hours
        group by 1, 2, 3, 4, 5`
      : sql`
        select machine_id, actor_type, actor_id, labels, to_timestamp(day * 86400) as day,
          sum((least(last, (day + 1) * 86400) - greatest(first, day * 86400))
            * coalesce(bytes, 1)::numeric) as quantity
        from (${cutIntervals(organizationId, window)}) as cut,
          generate_series(first / 86400, (last - 1) / 86400) as day
        group by 1, 2, 3, 4, 5`
  const { rows } = await sql<DailyUsage & { quantity: string }>`
    select named.*, quantity::text as quantity from (${withNames(used)}) as named
    where quantity > 0
    order by day, machine_id collate "C", actor_id collate "C", labels::text collate "C"`.execute(
    db,
  )
  return rows.map((row) => ({ ...row, quantity: BigInt(row.quantity) }))
}
