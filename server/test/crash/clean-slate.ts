import { machineTransitions, restingStates, type MachineState } from '@computer/contract'
import assert from 'node:assert/strict'
import { sql } from 'kysely'
import type { App } from '../../src/app.ts'
import { listWarm } from '../../src/domain/machines/warm-machines.ts'
import { checkMeters } from '../meter-checks.ts'

/** Waits until no machine or capture has work left; fails after 20 seconds. */
export async function untilRest(app: Pick<App, 'db' | 'changes' | 'config'>): Promise<void> {
  const deadline = Date.now() + 20_000
  for (;;) {
    const changed = nextChange(app)
    const busy = await findBusy(app)
    if (busy.length > 0) await changed.within(20)
    changed.forget()
    if (busy.length === 0) return
    if (Date.now() > deadline) throw new Error(`not at rest: ${busy.join(', ')}`)
  }
}

/** A notification that something changed. It may be lost. */
function nextChange({ changes }: Pick<App, 'changes'>) {
  const { promise, resolve } = Promise.withResolvers<void>()
  return {
    forget: changes.subscribe(() => resolve()),
    async within(ms: number) {
      const timer = setTimeout(resolve, ms)
      await promise
      clearTimeout(timer)
    },
  }
}

async function findBusy({ db, config }: Pick<App, 'db' | 'config'>): Promise<string[]> {
  const { rows } = await sql<{ busy: string }>`
    select concat_ws(' ', id, state, 'ready ' || ready_at, 'restore ' || restore_capture_id,
      'claimed until ' || claimed_until, attempts, last_error) as busy
    from machines where deleted_at is null and (
      not state = any(${restingStates}) or (state = 'running' and ready_at is null)
      or restore_capture_id is not null or claimed_until > clock_timestamp())
    union all
    select concat_ws(' ', id, state, attempts, error) from captures
    where state in ('pending', 'deleting') or claimed_until > clock_timestamp()
    union all
    select concat_ws(' ', id, state, attempts) from warm_machines
    where state != 'ready' or claimed_until > clock_timestamp()
    union all
    select 'the pool has too few machines'
    where (select count(*) from warm_machines) < ${config.warmMachines}`.execute(db)
  return rows.map(({ busy }) => busy)
}

/**
 * Fails unless no failure has left a trace: rows at rest that match the engine, no disk, uid range or
 * lease without its machine, logs of legal transitions, exact meters.
 */
export async function checkCleanSlate(app: Pick<App, 'db' | 'driver'>): Promise<void> {
  await checkMachines(app)
  await checkCaptures(app)
  await checkBelongings(app)
  await checkLogs(app)
  await checkMeters(app.db)
}

async function checkMachines({ db, driver }: Pick<App, 'db' | 'driver'>): Promise<void> {
  const rows = await db.selectFrom('machines').selectAll().where('deleted_at', 'is', null).execute()
  const instances = await listUnknown({ db, driver })
  // A machine that could not be created has no disk, and no machine in `error` has a guest.
  const hasDisk = (row: (typeof rows)[number]) => row.started_at !== null || row.stopped_at !== null
  const wanted = rows
    .filter(hasDisk)
    .map(({ id, generation, state }) => [id, generation, state === 'running' ? state : 'stopped'])
  const seen = instances.map(({ ref, state }) => [ref.id, ref.generation, state])
  assert.deepEqual(seen.sort(), wanted.sort(), 'machines of the engine match the rows')
  const frozen = instances.filter(({ isFrozen }) => isFrozen).map(({ ref }) => ref.id)
  assert.deepEqual(frozen, [], 'frozen machines')
}

/** The engine's machines without those that wait frozen in the pool. */
export async function listUnknown({ db, driver }: Pick<App, 'db' | 'driver'>) {
  const warm = (await listWarm(db)).map(({ id }) => id)
  const all = await driver.list()
  const waiting = all.filter(({ ref, isFrozen }) => isFrozen && warm.includes(ref.id))
  assert.equal(waiting.length, warm.length, 'machines of the pool that wait frozen')
  return all.filter((instance) => !waiting.includes(instance))
}

async function checkCaptures({ db, driver }: Pick<App, 'db' | 'driver'>): Promise<void> {
  const { rows } = await sql<{ id: string; state: string; is_named: boolean }>`
    select id, state, (
      exists (select from snapshots where capture_id = c.id and deleted_at is null)
      or exists (select from templates where capture_id = c.id)
      or exists (select from machines where base_capture_id = c.id and deleted_at is null)
    ) as is_named from captures c`.execute(db)
  assert.deepEqual(
    rows.filter((row) => !row.is_named),
    [],
    'captures without a reference',
  )
  const ready = rows.filter(({ state }) => state === 'ready').map(({ id }) => id)
  const seen = (await driver.listCaptures()).map(({ id }) => id)
  assert.deepEqual(seen.sort(), ready.sort(), 'captures of the engine match the rows')
  const { rows: dead } = await sql`select id from snapshots where deleted_at is not null`.execute(
    db,
  )
  assert.deepEqual(dead, [], 'rows of deleted snapshots')
}

async function checkBelongings({ db }: Pick<App, 'db'>): Promise<void> {
  const { rows: slots } = await sql`
    select slot, s.machine_id as owner, m.id as machine
    from (select * from uid_slots where machine_id is not null) s
    full join (
      select id, uid_slot from machines where deleted_at is null
      union all
      select id, uid_slot from warm_machines
    ) m on m.uid_slot = s.slot
    where s.machine_id is distinct from m.id`.execute(db)
  assert.deepEqual(slots, [], 'uid ranges without their machine')
  const { rows: leases } = await sql`
    select l.machine_id from input_leases l join machines m on m.id = l.machine_id
    where m.deleted_at is not null`.execute(db)
  assert.deepEqual(leases, [], 'leases of deleted machines')
}

async function checkLogs({ db }: Pick<App, 'db'>): Promise<void> {
  const machines = await db
    .selectFrom('machines')
    .select(['id', 'state', 'deleted_at', 'event_sequence'])
    .execute()
  const events = await db.selectFrom('machine_events').selectAll().orderBy('sequence').execute()
  const logs = Map.groupBy(events, (event) => event.machine_id)
  for (const machine of machines) {
    const log = logs.get(machine.id) ?? []
    assert.deepEqual(
      log.map(({ sequence }) => sequence),
      Array.from(log.keys()),
      'sequences',
    )
    assert.equal(log.length, machine.event_sequence + 1)
    let state: MachineState | null = null
    for (const { from_state: from, to_state: to } of log) {
      if (to === null) continue
      const legal: readonly string[] = state === null ? ['creating'] : machineTransitions[state]
      assert.ok(
        from === state && legal.includes(to),
        `${machine.id}: ${state}, then ${from} > ${to}`,
      )
      state = to as MachineState
    }
    assert.equal(state, machine.state)
    const ends = log.filter(({ type }) => type === 'machine.deleted').length
    assert.equal(ends, machine.deleted_at ? 1 : 0)
  }
}
