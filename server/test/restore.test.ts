import type { MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { observeAll } from '../src/worker/observe.ts'
import { assertRefused, holdMachine, hurry, onDisksOf } from './disks.ts'
import { collide } from './forced-race.ts'
import { startTestServer } from './harness.ts'
import { checkMeters } from './meter-checks.ts'
import { eventually, gone, settled } from './settled.ts'

const server = await startTestServer({ after })
const { call } = server
const { controls } = server.engine
const { db, driver } = server.app
const disks = onDisksOf(server)

test('a running machine comes back running on the disk of the snapshot, and its own is kept', async () => {
  const { id, snapshot } = await changedMachine()
  const hold = controls.hangNext('stop')
  const asked = await restore(id, snapshot.id)
  assert.deepEqual([asked.status, asked.body.state], [202, 'stopping'])
  await hold.reached
  const waiting = call('POST', `/v1/machines/${id}/restore`, { snapshot_id: snapshot.id })
  assertRefused(await waiting, 'conflict', /is stopping and a restore of it is under way/)
  hold.release()
  await settled(server, id, 'running')
  assert.equal(await disks.readMark(id), 'before')

  const kept = await beforeRestore(id)
  assert.deepEqual([kept.name, kept.origin, kept.state], ['Before restore', 'manual', 'ready'])
  assert.deepEqual(await disks.events(id, /restore|snapshot|stopp/), [
    'snapshot.started',
    'snapshot.completed',
    'machine.restore_started',
    'snapshot.started',
    'snapshot.completed',
    'machine.restore_completed',
    'machine.stopped',
  ])
  const [started] = await disks.events(id, /^machine.restore_started/, 'message')
  assert.equal(started, `to snapshot ${snapshot.id} "first"`)
  const row = await disks.row(id)
  assert.deepEqual(
    [row.generation, row.base_bytes, row.restore_capture_id],
    [2, snapshot.size_bytes, null],
  )
  await eventually(async () => (await generationsOf(id)).join() === '2' || undefined)

  const back = await restore(id, kept.id, '?wait=20')
  assert.deepEqual([back.status, back.body.state], [202, 'running'])
  assert.equal(await disks.readMark(id), 'after')
  assert.equal((await disks.row(id)).generation, 3)
})

test('a stopped machine stays stopped, and boots the other disk on its next start', async () => {
  const { id, snapshot } = await changedMachine()
  await disks.move(id, 'stop')
  const hold = controls.hangNext('create')
  const asked = await restore(id, snapshot.id)
  assert.deepEqual([asked.status, asked.body.state], [202, 'stopped'])
  await hold.reached
  const path = `/v1/machines/${id}`
  for (const answer of [
    await call('POST', `${path}/start`),
    await restore(id, snapshot.id),
    await call('PATCH', path, { size: 'large' }),
  ]) {
    assertRefused(answer, 'conflict', /is stopped and a restore of it is under way/)
  }
  assert.equal((await call('PATCH', path, { metadata: { a: 'b' } })).status, 200)
  hold.release()
  await eventually(async () => (await disks.row(id)).generation === 2 || undefined)
  assert.deepEqual(await disks.events(id, /^machine.stopped/), ['machine.stopped'])
  await disks.move(id, 'start')
  assert.equal(await disks.readMark(id), 'before')
  assert.equal((await beforeRestore(id)).state, 'ready')
})

test('wait holds the answer until the restore of a stopped machine is over', async () => {
  const { id, snapshot } = await changedMachine()
  await disks.move(id, 'stop')
  const { body } = await restore(id, snapshot.id, '?wait=20')
  assert.equal(body.state, 'stopped')
  assert.equal((await disks.row(id)).generation, 2)
})

test('a machine in error ends stopped, also when its disk is gone', async () => {
  for (const isLost of [false, true]) {
    const { id, snapshot } = await changedMachine()
    if (isLost) controls.lose(ref(id))
    else controls.die(ref(id))
    await settled(server, id, 'error')
    const { status, body } = await restore(id, snapshot.id, '?wait=20')
    assert.deepEqual([status, body.state], [202, 'stopped'])
    const kept = await beforeRestore(id)
    assert.equal(kept.state, isLost ? 'error' : 'ready')
    await disks.move(id, 'start')
    assert.equal(await disks.readMark(id), 'before')
  }
})

test('nobody may hold the lease, and what was open is no longer', async () => {
  const { id, snapshot } = await changedMachine()
  const { sessionId } = await server.lease(id)
  const held = await restore(id, snapshot.id)
  assertRefused(held, 'conflict', new RegExp(`held by agent session ${sessionId}`))
  assert.deepEqual(await disks.events(id, /restore/), [])
  await call('DELETE', `/v1/machines/${id}/input-lease?session_id=${sessionId}`)
  assert.equal((await restore(id, snapshot.id, '?wait=20')).body.state, 'running')
})

test('what cannot be restored says why', async () => {
  const { id, snapshot } = await changedMachine()
  const other = await server.machine()
  const foreign = await disks.snapshot(other.id)
  assertRefused(await restore(id, foreign.id), 'invalid_request', new RegExp(other.id))
  const hold = controls.hangNext('capture')
  const { body: pending } = await call('POST', '/v1/snapshots', { machine_id: id })
  assertRefused(await restore(id, pending.id), 'precondition_failed', /is pending/)
  await hold.reached
  hold.release()
  await disks.snapshotIn(pending.id, 'ready')
  const stopping = controls.hangNext('stop')
  await call('POST', `/v1/machines/${id}/stop`)
  assertRefused(await restore(id, snapshot.id), 'conflict', /from stopping to stopping/)
  await stopping.reached
  stopping.release()
  await settled(server, id, 'stopped')
  const stranger = server.as(await server.user('owner', 'stranger'))
  for (const [machineId, snapshotId] of [
    [id, snapshot.id],
    [other.id, `snp_${'0'.repeat(26)}`],
  ] as const) {
    const wish = { snapshot_id: snapshotId }
    assert.equal((await stranger('POST', `/v1/machines/${machineId}/restore`, wish)).status, 404)
  }
})

test('the snapshot that a restore is under way to stays', async () => {
  const { id, snapshot } = await changedMachine()
  const hold = controls.hangNext('stop')
  await restore(id, snapshot.id)
  await hold.reached
  const kept = await beforeRestore(id)
  await disks.snapshotIn(kept.id, 'ready')
  assert.equal((await call('DELETE', `/v1/snapshots/${kept.id}`)).status, 202)
  const refused = await call('DELETE', `/v1/snapshots/${snapshot.id}`)
  assertRefused(refused, 'conflict', /is being restored to it/)
  hold.release()
  await settled(server, id, 'running')
  assert.equal((await call('DELETE', `/v1/snapshots/${snapshot.id}`)).status, 202)
})

test('a disk that cannot be kept is not replaced: the machine runs on', async () => {
  const { id, snapshot } = await changedMachine()
  const { started_at } = await disks.row(id)
  controls.failNext('capture', { retryable: false })
  const { body } = await restore(id, snapshot.id, '?wait=20')
  assert.equal(body.state, 'running')
  assert.equal(body.started_at, started_at!.toISOString())
  assert.equal(await disks.readMark(id), 'after')
  const [reason] = await disks.events(id, /^machine.restore_failed/, 'message')
  assert.match(reason!, /disk of now could not be kept: the disk could not be copied/)
  assert.equal((await disks.row(id)).generation, 1)

  await disks.move(id, 'stop')
  await disks.settledCaptures()
  controls.failNext('capture', { retryable: false })
  assert.equal((await restore(id, snapshot.id, '?wait=20')).body.state, 'stopped')
  assert.equal((await disks.row(id)).generation, 1)
  assert.equal((await disks.events(id, /^machine.restore_failed/)).length, 2)
})

test('a disk that cannot be made leaves the one of before, which is booted again', async () => {
  const { id, snapshot } = await changedMachine()
  controls.failNext('create', { retryable: false, afterEffect: true })
  const { body } = await restore(id, snapshot.id, '?wait=20')
  assert.equal(body.state, 'running')
  assert.equal(await disks.readMark(id), 'after')
  const [reason] = await disks.events(id, /^machine.restore_failed/, 'message')
  assert.equal(reason, 'the disk could not be replaced')

  // What was left of it is never taken for the disk of the next restore.
  await disks.mark(id, 'latest')
  const latest = await disks.snapshot(id)
  await disks.mark(id, 'later')
  assert.equal((await restore(id, latest.id, '?wait=20')).body.state, 'running')
  assert.equal(await disks.readMark(id), 'latest')
  await observeAll(server.app)
  assert.deepEqual(await generationsOf(id), [3])
})

test('a captured disk that is gone, and a machine that cannot be stopped, are reasons', async (t) => {
  hurry(t, server)
  const { id, snapshot } = await changedMachine()
  const { capture_id } = await db
    .selectFrom('snapshots')
    .select('capture_id')
    .where('id', '=', snapshot.id)
    .executeTakeFirstOrThrow()
  controls.failNext('stop', { times: 6 })
  assert.equal((await restore(id, snapshot.id, '?wait=20')).body.state, 'running')
  controls.loseCapture(capture_id)
  assert.equal((await restore(id, snapshot.id, '?wait=20')).body.state, 'running')
  assert.deepEqual(await disks.events(id, /^machine.restore_failed/, 'message'), [
    'the machine could not be stopped',
    'the disk could not be replaced: the captured disk is gone',
  ])
  assert.equal(await disks.readMark(id), 'after')

  await call('DELETE', `/v1/machines/${id}`)
  await gone(server, id)
  for (const { id: snapshotId } of await disks.snapshotsOf(id)) {
    assert.equal((await call('DELETE', `/v1/snapshots/${snapshotId}`)).status, 202)
  }
})

test('what fails and may succeed later is tried again', async (t) => {
  hurry(t, server)
  const { id, snapshot } = await changedMachine()
  for (const method of ['capture', 'stop', 'create', 'start'] as const) {
    controls.failNext(method, { times: 1 })
    controls.failNext(method, { times: 1, afterEffect: true })
  }
  assert.equal((await restore(id, snapshot.id, '?wait=20')).body.state, 'running')
  assert.equal(await disks.readMark(id), 'before')
})

test('a machine is deleted in the middle of its restore, with all its disks', async () => {
  const { id, snapshot } = await changedMachine()
  const hold = controls.hangNext('create', { afterEffect: true })
  await restore(id, snapshot.id)
  await hold.reached
  assert.deepEqual(await generationsOf(id), [1, 2])
  assert.equal((await call('DELETE', `/v1/machines/${id}`)).body.state, 'deleting')
  hold.release()
  await gone(server, id)
  assert.deepEqual(await generationsOf(id), [])
  assert.equal((await disks.snapshotsOf(id)).length, 2)
  assert.equal((await disks.snapshotIn(snapshot.id, 'ready')).id, snapshot.id)
})

test('the disk of before goes later when it cannot go at once', async () => {
  const { id, snapshot } = await changedMachine()
  controls.failNext('destroy')
  await restore(id, snapshot.id, '?wait=20')
  assert.deepEqual(await generationsOf(id), [1, 2])
  await observeAll(server.app)
  assert.deepEqual(await generationsOf(id), [2])
  assert.equal(await disks.readMark(id), 'before')
})

test('of two restores at once one is under way', async () => {
  const { id, snapshot } = await changedMachine()
  const ask = () => restore(id, snapshot.id)
  const answers = await collide(db, holdMachine(id), [ask, ask, ask])
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [202, 409, 409])
  for (const answer of answers.filter(({ status }) => status === 409)) {
    assertRefused(answer, 'conflict', /under way/)
  }
  await settled(server, id, 'running')
  assert.equal((await disks.row(id)).generation, 2)
})

test('a restore is made with the plan used up', async (t) => {
  const small = await startTestServer(t, { plan: 'free' })
  const at = onDisksOf(small)
  const { id } = await small.machine()
  await at.snapshot(id)
  const last = await at.snapshot(id)
  const path = `/v1/machines/${id}/restore?wait=20`
  const { body } = await small.call('POST', path, { snapshot_id: last.id })
  assert.equal(body.state, 'running')
  assert.equal((await at.snapshotsOf(id)).length, 3)
})

test('the meters are what the rows hold', async () => {
  await disks.settledCaptures()
  await checkMeters(db)
})

/** A machine with a snapshot of how it was, that is marked otherwise now. */
async function changedMachine() {
  const { id } = await server.machine()
  await disks.mark(id, 'before')
  const snapshot = await disks.snapshot(id, 'first')
  await disks.mark(id, 'after')
  return { id, snapshot }
}

function restore(id: string, snapshotId: string, query = '') {
  return call('POST', `/v1/machines/${id}/restore${query}`, { snapshot_id: snapshotId })
}

async function beforeRestore(id: string) {
  const snapshots = await disks.snapshotsOf(id)
  return snapshots.find(({ name }) => name === 'Before restore')!
}

async function generationsOf(id: string): Promise<number[]> {
  const instances = await driver.list()
  return instances.filter((one) => one.ref.id === id).map((one) => one.ref.generation)
}

function ref(id: MachineId) {
  return { id, generation: 1 }
}
