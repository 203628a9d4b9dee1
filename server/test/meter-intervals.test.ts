import { MachineEvent, type MachineEventType, type MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { onDisksOf } from './disks.ts'
import { startTestServer } from './harness.ts'
import { checkMeters } from './meter-checks.ts'
import { gone, settled } from './settled.ts'

const server = await startTestServer({ after })
const { db } = server.app
const { controls } = server.engine
const disks = onDisksOf(server)
const gibibyte = 2 ** 30

test('a machine is metered from its first run to its deletion, by the times of its events', async () => {
  const { id } = await server.machine()
  await move(id, 'restart')
  await move(id, 'stop')
  await server.call('PATCH', `/v1/machines/${id}`, { name: 'renamed' })
  await server.call('PATCH', `/v1/machines/${id}`, { size: 'large' })
  await move(id, 'start')
  await server.call('DELETE', `/v1/machines/${id}`)
  await gone(server, id)

  const at = await timesOf(id)
  assert.deepEqual(await intervalsOf(id), [
    ['hot_storage', null, 10 * gibibyte, at('creating>running'), at('resized')],
    ['compute', 'small', null, at('creating>running'), at('stopping>stopped')],
    ['compute', 'small', null, at('starting>running'), at('stopping>stopped', 1)],
    ['hot_storage', null, 50 * gibibyte, at('resized'), at('running>deleting')],
    ['compute', 'large', null, at('starting>running', 1), at('running>deleting')],
  ])
  await checkMeters(db)
})

test('a machine created stopped costs storage only, and a failed creation costs nothing', async () => {
  const { id } = await server.machine({ start: false, size: 'standard' })
  const at = await timesOf(id)
  const disk = ['hot_storage', null, 25 * gibibyte, at('creating>stopped'), null]
  assert.deepEqual(await intervalsOf(id), [disk])

  controls.failNext('create', { retryable: false })
  const broken = await server.machine()
  assert.deepEqual([broken.state, await intervalsOf(broken.id)], ['error', []])
  await move(broken.id, 'start')
  const meters = (await intervalsOf(broken.id)).map(([meter]) => meter)
  assert.deepEqual(meters.sort(), ['compute', 'hot_storage'])
  await checkMeters(db)
})

test('a machine that dies or powers itself off ends its compute and keeps its storage', async () => {
  for (const end of ['die', 'powerOff'] as const) {
    const { id } = await server.machine()
    controls[end]({ id, generation: 1 })
    await settled(server, id, end === 'die' ? 'error' : 'stopped')
    const at = await timesOf(id)
    const open = (await intervalsOf(id)).filter(([, , , , endedAt]) => endedAt === null)
    assert.deepEqual(open, [['hot_storage', null, 10 * gibibyte, at('creating>running'), null]])
  }
  await checkMeters(db)
})

test('facts are stored with events and not part of any response', async () => {
  const { id } = await server.machine({ start: false })
  const { body } = await server.call('GET', `/v1/machines/${id}/events`)
  const fields = Object.keys(MachineEvent.shape).sort()
  for (const event of body.data) assert.deepEqual(Object.keys(event).sort(), fields)
  const rows = await db
    .selectFrom('machine_events')
    .select('facts')
    .where('machine_id', '=', id)
    .execute()
  const { body: me } = await server.call('GET', '/v1/auth/me')
  const caller = { type: 'api_key', id: me.api_key.id }
  assert.deepEqual(rows[0]!.facts, {
    size: 'small',
    disk_bytes: 10 * gibibyte,
    created_by: caller,
    run_by: caller,
  })
})

test('a capture is metered from its completion until its last reference is deleted', async () => {
  const { id } = await server.machine()
  await disks.mark(id, 'some bytes')
  const { id: snapshotId, size_bytes: bytes } = await disks.snapshot(id)
  const template = await server.call('POST', '/v1/templates', {
    name: 'outlives its snapshot',
    snapshot_id: snapshotId,
  })
  assert.deepEqual(await coldOf(id), [[bytes, await timeOf(id, 'snapshot.completed'), null]])

  await server.call('DELETE', `/v1/snapshots/${snapshotId}`)
  await server.call('DELETE', `/v1/machines/${id}`)
  await gone(server, id)
  assert.deepEqual(await coldOf(id), [[bytes, await timeOf(id, 'snapshot.completed'), null]])
  await checkMeters(db)

  await server.call('DELETE', `/v1/templates/${template.body.id}`)
  const ended = await timeOf(id, 'snapshot.deleted', 1)
  assert.deepEqual(await coldOf(id), [[bytes, await timeOf(id, 'snapshot.completed'), ended]])
  await checkMeters(db)
})

test('the capture of a fork is not metered, and the fork is', async () => {
  const { id } = await server.machine()
  const { body: fork } = await server.call('POST', `/v1/machines/${id}/fork`, {})
  await disks.machineIn(fork.id, 'running')
  await disks.settledCaptures()
  assert.deepEqual([await coldOf(id), await coldOf(fork.id)], [[], []])
  const meters = (await intervalsOf(fork.id)).map(([meter]) => meter)
  assert.deepEqual(meters, ['hot_storage', 'compute'])
  await checkMeters(db)
})

test('a restore ends the run and leaves the disk metered as it was', async () => {
  const { id } = await server.machine()
  const { id: snapshotId } = await disks.snapshot(id)
  const input = { snapshot_id: snapshotId }
  const restored = await server.call('POST', `/v1/machines/${id}/restore?wait=20`, input)
  assert.equal(restored.body.state, 'running')
  const at = await timesOf(id)
  assert.deepEqual(await intervalsOf(id), [
    ['hot_storage', null, 10 * gibibyte, at('creating>running'), null],
    ['compute', 'small', null, at('creating>running'), at('stopping>stopped')],
    ['compute', 'small', null, at('starting>running'), null],
  ])
  assert.equal((await coldOf(id)).length, 2)
  await checkMeters(db)
})

/** Requests a change of state, which may be refused, and waits until the machine is at rest. */
async function move(id: MachineId, path: 'start' | 'stop' | 'restart'): Promise<void> {
  await server.call('POST', `/v1/machines/${id}/${path}?wait=20`)
}

/** The metered intervals of a machine's runs and its disk, oldest first. */
async function intervalsOf(id: MachineId) {
  const rows = await selectIntervals(id).where('meter', '!=', 'cold_storage').execute()
  return rows.map((row) => [row.meter, row.size, row.bytes, row.started_at, row.ended_at])
}

/** The metered intervals of its captures. */
async function coldOf(id: MachineId) {
  const rows = await selectIntervals(id).where('meter', '=', 'cold_storage').execute()
  return rows.map((row) => [row.bytes, row.started_at, row.ended_at])
}

function selectIntervals(id: MachineId) {
  return db
    .selectFrom('meter_intervals')
    .selectAll()
    .where('machine_id', '=', id)
    .orderBy('started_at')
    .orderBy('meter', 'desc')
}

/** The time of a machine's nth transition or resize. */
async function timesOf(id: MachineId) {
  const events = await eventsOf(id)
  return (move: string, nth = 0): Date => {
    const named = events.filter(({ type, from_state: from, to_state: to, facts }) =>
      type === 'machine.updated' && to === null && facts
        ? move === 'resized'
        : move === `${from}>${to}`,
    )
    return named[nth]!.occurred_at
  }
}

async function timeOf(id: MachineId, type: MachineEventType, nth = 0): Promise<Date> {
  return (await eventsOf(id)).filter((event) => event.type === type)[nth]!.occurred_at
}

async function eventsOf(id: MachineId) {
  return db
    .selectFrom('machine_events')
    .selectAll()
    .where('machine_id', '=', id)
    .orderBy('sequence')
    .execute()
}
