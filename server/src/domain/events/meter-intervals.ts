import type { MachineId, MachineSize, OrganizationId } from '@computer/contract'
import { sql, type RawBuilder } from 'kysely'
import type { CaptureRow, Database, MachineRow, Tx } from '../../db/database.ts'
import type { EventFacts, Labels } from '../../db/tables/attribution.ts'
import { attributionFacts, captureAttribution } from './attribution.ts'
import { isInScope, type UsageScope } from './usage-scope.ts'
import { meterSteps, type Metered, type MeteredEvent, type Quantity } from './meter-replay.ts'

const gibibyte = 2 ** 30

/** The facts of a machine that an event records, so that the log alone determines the meters. */
export function machineFacts(machine: MachineRow): EventFacts {
  const { size, disk_gb: diskGb } = machine
  return { size, disk_bytes: diskGb * gibibyte, ...attributionFacts(machine) }
}

/** The facts of a capture that an event records when it is kept, or no longer named. */
export function captureFacts(machine: MachineRow, capture: MeteredCapture): EventFacts {
  const { id, size_bytes: bytes } = capture
  return { capture_id: id, bytes: bytes ?? 0, ...captureAttribution(machine, capture) }
}

export type MeteredCapture = Pick<
  CaptureRow,
  'id' | 'size_bytes' | 'captured_by_type' | 'captured_by_id'
>

/** Opens and closes the intervals of an event that was just inserted, at exactly its time. */
export async function meterEvent(
  tx: Tx,
  event: MeteredEvent & {
    readonly organization_id: OrganizationId
    readonly machine_id: MachineId
  },
): Promise<void> {
  const { machine_id: machineId, occurred_at: at } = event
  for (const { open, close, relabel } of meterSteps(event)) {
    if (close) await closeInterval(tx, machineId, close, at)
    else if (open) await openInterval(tx, event, open)
    else await relabelIntervals(tx, machineId, relabel, at)
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
      labels: JSON.stringify(quantity.labels) as never,
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

/** Goes on counting what is open of a machine, with other labels. */
async function relabelIntervals(
  tx: Tx,
  machineId: MachineId,
  labels: Labels,
  at: Date,
): Promise<void> {
  const closed = await tx
    .updateTable('meter_intervals')
    .set({ ended_at: at })
    .where('machine_id', '=', machineId)
    .where('capture_id', 'is', null)
    .where('ended_at', 'is', null)
    .returningAll()
    .execute()
  if (closed.length === 0) return
  const reopened = closed.map(({ id: _id, ...interval }) => ({
    ...interval,
    labels: JSON.stringify(labels) as never,
    started_at: at,
    ended_at: null,
  }))
  await tx.insertInto('meter_intervals').values(reopened).execute()
}

/** A part of the time of an organization, and optionally of one meter, or of a part of its usage. */
export type UsageWindow = UsageScope & {
  readonly start: Date
  readonly end: Date
  readonly meter?: string | undefined
}

export type UsageMeter = `compute_${MachineSize}_seconds` | `${'hot' | 'cold'}_storage_byte_seconds`

/** The usage of an organization in a window, to the second and the byte (sumUsage). */
export async function usageOf(
  db: Database,
  organizationId: OrganizationId,
  window: UsageWindow,
): Promise<ReadonlyMap<UsageMeter, bigint>> {
  const { rows } = await sql<{ meter: UsageMeter; quantity: string }>`
    ${sumUsage(organizationId, window)}`.execute(db)
  return new Map(rows.map(({ meter, quantity }) => [meter, BigInt(quantity)]))
}

/**
 * The `meter`s of an organization in a window, and the `quantity` of each as a decimal string; unused meters
 * are absent.
 *
 * A whole second counts for an interval if it begins within it. So every second of a machine counts in
 * exactly one window, whatever the windows are, and the sums of adjacent windows add up exactly. Open
 * intervals count until now.
 */
export function sumUsage(
  organizationId: OrganizationId,
  window: UsageWindow,
): RawBuilder<{ meter: UsageMeter; quantity: string }> {
  // Postgres takes longer to plan the sum of both than to add up a few intervals.
  const quantity =
    window.meter === 'compute'
      ? sql`sum(last - first)`
      : sql`case meter
          when 'compute' then sum(last - first) else sum((last - first)::numeric * bytes)
        end`
  return sql`
    select * from (
      select ${meterName} as meter, (${quantity})::text as quantity
      from (${clipIntervals(organizationId, window)}) as clipped
      group by meter, size
    ) as sums where quantity <> '0'`
}

/** The name of the meter that a row of `cutIntervals` counts for. */
export const meterName = sql<UsageMeter>`(
  case meter when 'compute' then 'compute_' || size || '_seconds' else meter || '_byte_seconds' end
)`

/**
 * The intervals of an organization, cut to a window, without those in which no second counts. Readers of
 * quantities begin with these rows, or with those of `clipIntervals`.
 */
export function cutIntervals(
  organizationId: OrganizationId,
  window: UsageWindow,
): RawBuilder<unknown> {
  return sql`select * from (${clipIntervals(organizationId, window)}) as each where first < last`
}

/**
 * `first` and `last` are the seconds since 1970 of the first whole second that counts and of the one after
 * the last. Each counts 1, or the bytes. Without a second that counts they are equal, so sums need not look.
 */
function clipIntervals(
  organizationId: OrganizationId,
  { start, end, meter, ...scope }: UsageWindow,
): RawBuilder<unknown> {
  const [, size = null] = /^compute_(.*)_seconds$/.exec(meter ?? '') ?? []
  const kind = size === null ? meter?.replace(/_byte_seconds$/, '') : 'compute'
  const cutStart = sql`greatest(started_at, ${start})`
  // Events get no earlier time, so nothing that is open can end before it, even if the clock is set back.
  const now = sql`greatest(statement_timestamp(), account.closed_through)`
  // An open interval counts until now, or not at all if it or the window begins later.
  const until = sql`coalesce(ended_at, greatest(${now}, started_at, ${start}))`
  const cutEnd = sql`least(${until}, ${end})`
  // Doubles have whole seconds and microseconds exactly until the year 2255, and are fast.
  return sql`
    select id, machine_id, meter, size, bytes, started_at, actor_type, actor_id, labels,
      ${cutStart} as cut_start, ${cutEnd} as cut_end,
      ceil(date_part('epoch', ${cutStart}))::bigint as first,
      ceil(date_part('epoch', ${cutEnd}))::bigint as last
    from meter_intervals i join billing_accounts account using (organization_id)
    where i.organization_id = ${organizationId}
      and started_at < ${end}
      and (ended_at is null or ended_at > ${start})
      and ${isInScope(scope)}
      and (${kind ?? null}::text is null or meter = ${kind ?? null})
      and (${size}::text is null or size = ${size})`
}
