import type { CaptureId, MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { sql } from 'kysely'
import type { Database } from '../src/db/database.ts'
import type { Labels } from '../src/db/tables/attribution.ts'
import {
  replayMeters,
  type Interval,
  type MeteredEvent,
} from '../src/domain/events/meter-replay.ts'

/**
 * Fails unless the intervals of every machine, deleted ones included, follow from its log, and the open
 * intervals match the other rows. It may be called at any moment.
 */
export async function checkMeters(db: Database): Promise<void> {
  await db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (tx) => {
      await checkIntervals(tx)
      const intervals = await tx.selectFrom('meter_intervals').selectAll().execute()
      const open = intervals.filter((interval) => interval.ended_at === null).map(nameOf)
      assert.deepEqual(open.sort(), (await readHeld(tx)).sort(), 'open intervals match the rows')
    })
}

/** The first half: the intervals follow from the logs, none is negative, and none overlaps another. */
export async function checkIntervals(db: Database): Promise<void> {
  const kept = groupByMachine(await db.selectFrom('meter_intervals').selectAll().execute())
  const logs = groupByMachine(await readLogs(db))
  for (const id of new Set([...logs.keys(), ...kept.keys()])) {
    const log = logs.get(id) ?? []
    const table = inOrder(kept.get(id) ?? [])
    assert.deepEqual(table, inOrder(replayMeters(log)), `meters of ${id}`)
    checkTimes(id, log)
    checkOverlaps(id, table)
  }
}

async function readLogs(db: Database) {
  return db
    .selectFrom('machine_events')
    .select(['machine_id', 'type', 'to_state', 'occurred_at', 'facts'])
    .orderBy('machine_id')
    .orderBy('sequence')
    .execute()
}

/** The open intervals that follow from the other rows, without the log. */
async function readHeld(db: Database): Promise<string[]> {
  const machines = await db
    .selectFrom('machines')
    .selectAll()
    .where('deleted_at', 'is', null)
    .execute()
  const captures = await db
    .selectFrom('captures')
    .innerJoin('machines as m', 'm.id', 'captures.machine_id')
    .selectAll('captures')
    .select('m.created_by_id')
    .where('captures.state', '=', 'ready')
    .where(
      sql<boolean>`(
        exists (select from snapshots s where s.capture_id = captures.id and s.deleted_at is null)
        or exists (select from templates t where t.capture_id = captures.id)
      )`,
    )
    .execute()
  const held: Parameters<typeof nameOf>[0][] = []
  for (const { id, state, size, disk_gb: diskGb, ...machine } of machines) {
    const of = { machine_id: id, capture_id: null, labels: machine.labels }
    const wasMade = machine.started_at !== null || machine.stopped_at !== null
    if (['running', 'stopping'].includes(state)) {
      held.push({ ...of, meter: 'compute', size, bytes: null, actor_id: machine.run_by_id })
    }
    if (wasMade && state !== 'deleting') {
      const bytes = diskGb * 2 ** 30
      const owner = machine.created_by_id
      held.push({ ...of, meter: 'hot_storage', size: null, bytes, actor_id: owner })
    }
  }
  for (const { machine_id, id, size_bytes: bytes, captured_by_id, created_by_id } of captures) {
    const of = { machine_id, capture_id: id, labels: null }
    const actor_id = captured_by_id ?? created_by_id
    held.push({ ...of, meter: 'cold_storage', size: null, bytes, actor_id })
  }
  return held.map(nameOf)
}

function checkTimes(id: MachineId, log: readonly MeteredEvent[]): void {
  for (const [index, event] of log.slice(1).entries()) {
    assert.ok(event.occurred_at >= log[index]!.occurred_at, `the log of ${id} runs backwards`)
  }
}

function checkOverlaps(id: MachineId, intervals: readonly Interval[]): void {
  const ends = new Map<string, Date | null>()
  for (const interval of intervals) {
    const key = `${interval.meter} ${interval.capture_id}`
    const end = ends.get(key)
    assert.ok(end !== null, `${id}: ${key} opens while it is open`)
    assert.ok(end === undefined || end <= interval.started_at, `${id}: ${key} overlaps`)
    assert.ok(interval.ended_at === null || interval.started_at <= interval.ended_at)
    ends.set(key, interval.ended_at)
  }
}

function groupByMachine<Row extends { readonly machine_id: MachineId }>(rows: readonly Row[]) {
  return Map.groupBy(rows, (row) => row.machine_id)
}

function inOrder(intervals: readonly Interval[]): Interval[] {
  return intervals
    .map(
      ({ meter, size, bytes, capture_id, actor_type, actor_id, labels, started_at, ended_at }) => ({
        meter,
        size,
        bytes,
        capture_id,
        actor_type,
        actor_id,
        labels,
        started_at,
        ended_at,
      }),
    )
    .toSorted(
      (a, b) => Number(a.started_at) - Number(b.started_at) || (order(a) < order(b) ? -1 : 1),
    )
}

/** Intervals that begin and end in the same millisecond come before those that continue. */
function order(interval: Interval): string {
  const end = interval.ended_at?.toISOString() ?? '~'
  return `${interval.meter} ${interval.capture_id} ${end} ${interval.bytes}`
}

function nameOf(held: {
  readonly machine_id: MachineId
  readonly meter: string
  readonly capture_id: CaptureId | null
  readonly size: string | null
  readonly bytes: number | null
  readonly actor_id: string | null
  /** A captured disk keeps labels that its machine may have lost: they are in the log alone. */
  readonly labels: Labels | null
}): string {
  const { meter, labels } = held
  const known = meter === 'cold_storage' ? '' : JSON.stringify(Object.entries(labels ?? {}).sort())
  const actor = held.actor_id
  return [held.machine_id, meter, held.capture_id, held.size, held.bytes, actor, known].join(' ')
}
