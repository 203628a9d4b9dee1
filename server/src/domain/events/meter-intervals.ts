import type { MachineId, MachineSize, OrganizationId } from '@computer/contract'
import { sql } from 'kysely'
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
  window: { readonly start: Date; readonly end: Date; readonly meter?: UsageMeter | undefined },
): Promise<ReadonlyMap<UsageMeter, bigint>> {
  const { start, end, meter } = window
  const { rows } = await sql<{ meter: UsageMeter; quantity: string }>`
    with cut as (
      select
        case meter when 'compute' then 'compute_' || size || '_seconds'
          else meter || '_byte_seconds' end as meter,
        ceil(extract(epoch from least(coalesce(ended_at, statement_timestamp()), ${end})))
          - ceil(extract(epoch from greatest(started_at, ${start}))) as seconds,
        coalesce(bytes, 1) as units
      from meter_intervals
      where organization_id = ${organizationId}
        and started_at < ${end}
        and (ended_at is null or ended_at > ${start})
    )
    select meter, sum(greatest(seconds, 0) * units)::text as quantity
    from cut
    where ${meter ?? null}::text is null or meter = ${meter ?? null}
    group by meter
    having sum(greatest(seconds, 0) * units) > 0`.execute(db)
  return new Map(rows.map((row) => [row.meter, BigInt(row.quantity)]))
}
