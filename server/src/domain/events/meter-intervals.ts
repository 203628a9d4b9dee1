import type { MachineId, MachineSize, OrganizationId } from '@computer/contract'
import { sql, type RawBuilder } from 'kysely'
import type { CaptureRow, Database, MachineRow, Tx } from '../../db/database.ts'
import { meterSteps, type Metered, type MeteredEvent, type Quantity } from './meter-replay.ts'

const gibibyte = 2 ** 30

/** The facts of a machine that an event records, so that the log alone determines the meters. */
export function machineFacts(machine: MachineRow) {
  return { size: machine.size, disk_bytes: machine.disk_gb * gibibyte }
}

/** The facts of a capture that an event records when it is kept, or no longer named. */
export function captureFacts(capture: Pick<CaptureRow, 'id' | 'size_bytes'>) {
  return { capture_id: capture.id, bytes: capture.size_bytes ?? 0 }
}

/** Opens and closes the intervals of an event that was just inserted, at exactly its time. */
export async function meterEvent(
  tx: Tx,
  event: MeteredEvent & {
    readonly organization_id: OrganizationId
    readonly machine_id: MachineId
  },
): Promise<void> {
  for (const { open, close } of meterSteps(event)) {
    if (close) await closeInterval(tx, event.machine_id, close, event.occurred_at)
    else await openInterval(tx, event, open)
  }
}

async function openInterval(
  tx: Tx,
  event: Parameters<typeof meterEvent>[1],
  quantity: Quantity,
): Promise<void> {
  await tx
    .insertInto('meter_intervals')
    .values({
      ...quantity,
      organization_id: event.organization_id,
      machine_id: event.machine_id,
      started_at: event.occurred_at,
      ended_at: null,
    })
    // The table's only unique keys are those of open intervals.
    .onConflict((open) => open.doNothing())
    .execute()
}

async function closeInterval(
  tx: Tx,
  machineId: MachineId,
  { meter, capture_id: captureId }: Metered,
  at: Date,
): Promise<void> {
  await tx
    .updateTable('meter_intervals')
    .set({ ended_at: at })
    .where('machine_id', '=', machineId)
    .where('meter', '=', meter)
    .where('capture_id', captureId === null ? 'is' : '=', captureId)
    .where('ended_at', 'is', null)
    .execute()
}

/** A part of the time of an organization, and optionally of one meter or machine. */
export type UsageWindow = {
  readonly start: Date
  readonly end: Date
  readonly meter?: string | undefined
  readonly machineId?: MachineId | undefined
}

export type UsageMeter = `compute_${MachineSize}_seconds` | `${'hot' | 'cold'}_storage_byte_seconds`

/**
 * The usage of an organization in a window, to the second and the byte; unused meters are absent.
 *
 * A whole second counts for an interval if it begins within it. So every second of a machine counts in
 * exactly one window, whatever the windows are, and the sums of adjacent windows add up exactly. Open
 * intervals count until now.
 */
export async function usageOf(
  db: Database,
  organizationId: OrganizationId,
  window: UsageWindow,
): Promise<ReadonlyMap<UsageMeter, bigint>> {
  // Sums of seconds are fast; few sums are then multiplied.
  const { rows } = await sql<{ meter: UsageMeter; quantity: string }>`
    select ${meterName} as meter, sum(seconds * coalesce(bytes, 1))::text as quantity
    from (
      select meter, size, bytes, sum(last - first) as seconds
      from (${cutIntervals(organizationId, window)}) as cut
      group by meter, size, bytes
    ) as sums
    group by 1
    having sum(seconds * coalesce(bytes, 1)) > 0`.execute(db)
  return new Map(rows.map((row) => [row.meter, BigInt(row.quantity)]))
}

/** The name of the meter that a row of `cutIntervals` counts for. */
export const meterName = sql<UsageMeter>`(
  case meter when 'compute' then 'compute_' || size || '_seconds' else meter || '_byte_seconds' end
)`

/**
 * The intervals of an organization, cut to a window: all readers of quantities begin with these rows.
 * `first` and `last` are the seconds since 1970 of the first whole second that counts and of the one after
 * the last. Each counts 1, or the bytes.
 */
export function cutIntervals(
  organizationId: OrganizationId,
  { start, end, meter, machineId }: UsageWindow,
): RawBuilder<unknown> {
  const [, size = null] = /^compute_(.*)_seconds$/.exec(meter ?? '') ?? []
  const kind = size === null ? meter?.replace(/_byte_seconds$/, '') : 'compute'
  // Events get no earlier time, so nothing that is open can end before it, even if the clock is set back.
  const now = sql`(
    select greatest(statement_timestamp(), closed_through) from billing_accounts
    where organization_id = ${organizationId})`
  // Doubles have whole seconds and microseconds exactly until the year 2255, and are fast.
  return sql`
    select * from (
      select id, machine_id, meter, size, bytes, started_at,
        greatest(started_at, ${start}) as cut_start,
        least(coalesce(ended_at, ${now}), ${end}) as cut_end,
        ceil(date_part('epoch', greatest(started_at, ${start})))::bigint as first,
        ceil(date_part('epoch', least(coalesce(ended_at, ${now}), ${end})))::bigint
          as last
      from meter_intervals
      where organization_id = ${organizationId}
        and started_at < ${end}
        and (ended_at is null or ended_at > ${start})
        and (${machineId ?? null}::text is null or machine_id = ${machineId ?? null})
        and (${kind ?? null}::text is null or meter = ${kind ?? null})
        and (${size}::text is null or size = ${size})
    ) as each
    where first < last`
}
