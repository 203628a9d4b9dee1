import { machineTransitions, type CaptureId, type MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { sql, type Updateable } from 'kysely'
import { billingCases } from '../../scripts/soak/properties.ts'
import type { Schema, Tx } from '../src/db/database.ts'
import { appendEvent } from '../src/domain/events/events.ts'
import { moveMachine } from '../src/domain/events/machine-states.ts'
import { replayMeters, type Interval } from '../src/domain/events/meter-replay.ts'
import { lockAnyMachine } from '../src/domain/find-machine.ts'
import { newId } from '../src/ids.ts'
import { startTestServer } from './harness.ts'

/*
 * Whatever the clock of the database says, as when it is set back, or when a machine's events come from two
 * hosts of the database whose clocks differ: no interval is negative, none overlaps another of the same, and
 * none begins or ends in a period that had ended. A schema that is searched first has a clock of the test.
 */

const server = await startTestServer({ after })
const { db } = server.app
const { id } = await server.machine({ start: false })
await server.stopWorkers()
await sql`create schema skewed`.execute(db)
await sql`create table skewed.clock (at timestamptz not null)`.execute(db)
await sql`insert into skewed.clock values (now())`.execute(db)
await sql`create function skewed.clock_timestamp() returns timestamptz language sql volatile
  as 'select at from skewed.clock'`.execute(db)

const hourMs = 3_600_000
const captures = [newId('cap'), newId('cap')]
const step = fc.record({
  /** Two hosts, one of which may be ahead by any time. */
  clock: fc
    .tuple(
      fc.integer({ min: -48 * hourMs, max: 48 * hourMs }),
      fc.constantFrom(0, 1, 1_500, 97_000_000),
    )
    .map(([ms, skew]) => ms + skew),
  /** A period ends, in hours from now. */
  ends: fc.option(fc.integer({ min: -48, max: 48 }), { freq: 6 }),
  action: fc.oneof(
    { weight: 4, arbitrary: fc.record({ move: fc.nat({ max: 9 }) }) },
    fc.record({ size: fc.constantFrom('small', 'standard', 'large') }),
    fc.record({ label: fc.constantFrom('a', 'b') }),
    fc.record({ capture: fc.constantFrom(...captures), isKept: fc.boolean() }),
  ),
})
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

test('no interval is negative or overlaps another, however the clock goes', async () => {
  const property = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), inTransaction)
  await fc.assert(property, billingCases())
})

/** Takes the steps, checks, and leaves nothing behind. */
async function inTransaction(steps: readonly Step[]): Promise<void> {
  const undo = new Error('undo')
  const run = db.transaction().execute(async (tx) => {
    const { now } = (await sql<{ now: Date }>`select now() as now`.execute(tx)).rows[0]!
    await sql`set local search_path = skewed, pg_catalog, public`.execute(tx)
    let closed = 0
    for (const { clock, ends, action } of steps) {
      await sql`update skewed.clock set at = ${new Date(now.getTime() + clock)}`.execute(tx)
      if (ends !== null) {
        closed = Math.max(closed, Math.floor(now.getTime() / hourMs + ends) * hourMs)
        const set = { closed_through: sql<Date>`greatest(closed_through, ${new Date(closed)})` }
        await tx.updateTable('billing_accounts').set(set).execute()
      }
      const log = await readLog(tx)
      await act(tx, action)
      const after = await readLog(tx)
      if (after.length > log.length) {
        const at = after.at(-1)!.occurred_at.getTime()
        const least = [log.at(-1)!.occurred_at.getTime(), closed, now.getTime() + clock]
        assert.equal(at, Math.max(...least))
      }
    }
    await checkIntervals(tx)
    throw undo
  })
  await run.catch((error: unknown) => {
    if (error !== undo) throw error
  })
}

async function act(tx: Tx, action: Step['action']): Promise<void> {
  const machine = await lockAnyMachine(tx, id)
  if ('move' in action) {
    const states = machineTransitions[machine.state]
    if (states.length > 0) await moveMachine(tx, machine, states[action.move % states.length]!)
  } else if ('size' in action) {
    if (machine.state !== 'stopped') return
    const disk = { small: 10, standard: 20, large: 40 }[action.size as 'small']
    await change(tx, { size: action.size as 'small', disk_gb: disk })
    await appendEvent(tx, id, { type: 'machine.updated', resized: true })
  } else if ('label' in action) {
    await change(tx, { labels: JSON.stringify({ team: action.label }) as never })
    await appendEvent(tx, id, { type: 'machine.updated', relabeled: true })
  } else {
    const none = { captured_by_type: null, captured_by_id: null }
    const capture = { id: action.capture as CaptureId, size_bytes: 5, ...none }
    const type = action.isKept ? 'snapshot.completed' : 'snapshot.deleted'
    await appendEvent(tx, id, { type, capture })
  }
}

async function change(tx: Tx, set: Updateable<Schema['machines']>): Promise<void> {
  await tx.updateTable('machines').set(set).where('id', '=', id).execute()
}

async function checkIntervals(tx: Tx): Promise<void> {
  const log = await readLog(tx)
  const rows = await tx
    .selectFrom('meter_intervals')
    .selectAll()
    .where('machine_id', '=', id)
    .orderBy('started_at')
    .orderBy('id')
    .execute()
  const ends = new Map<string, Date | null>()
  for (const row of rows) {
    const key = `${row.meter} ${row.capture_id}`
    const end = ends.get(key)
    assert.ok(end !== null, `${key} opens while it is open`)
    assert.ok(end === undefined || end <= row.started_at, `${key} overlaps`)
    assert.ok(row.ended_at === null || row.started_at <= row.ended_at, `${key} is negative`)
    ends.set(key, row.ended_at)
  }
  assert.deepEqual(described(rows), described(replayMeters(log)))
}

function described(intervals: readonly Interval[]): string[] {
  const texts = intervals.map(({ meter, capture_id, size, bytes, labels, started_at, ended_at }) =>
    JSON.stringify([meter, capture_id, size, bytes, labels, started_at, ended_at]),
  )
  return texts.toSorted()
}

async function readLog(tx: Tx) {
  return tx
    .selectFrom('machine_events')
    .select(['type', 'to_state', 'occurred_at', 'facts'])
    .where('machine_id', '=', id satisfies MachineId)
    .orderBy('sequence')
    .execute()
}
