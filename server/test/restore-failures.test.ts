import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { reconcileAll } from '../src/worker/reconcile.ts'
import { onDisksOf } from './disks.ts'
import { startTestServer } from './harness.ts'
import { checkMeters } from './meter-checks.ts'
import { gone } from './settled.ts'

const server = await startTestServer({ after })
const { call } = server
const { controls } = server.engine
const { db } = server.app
const disks = onDisksOf(server)

test('a disk that cannot be captured is not replaced, and the machine runs on', async () => {
  const { id, snapshot } = await disks.changedMachine()
  const { started_at } = await disks.row(id)
  controls.failNext('capture', { retryable: false })
  const { body } = await disks.restore(id, snapshot.id, '?wait=20')
  assert.equal(body.state, 'running')
  assert.equal(body.started_at, started_at!.toISOString())
  assert.equal(await disks.readMark(id), 'after')
  const [reason] = await disks.events(id, /^machine.restore_failed/, 'message')
  assert.match(reason!, /the current disk could not be kept: the disk could not be copied/)
  assert.equal((await disks.row(id)).generation, 1)

  await disks.move(id, 'stop')
  await disks.settledCaptures()
  controls.failNext('capture', { retryable: false })
  assert.equal((await disks.restore(id, snapshot.id, '?wait=20')).body.state, 'stopped')
  assert.equal((await disks.row(id)).generation, 1)
  assert.equal((await disks.events(id, /^machine.restore_failed/)).length, 2)
})

test('if the new disk cannot be created, the machine boots from the old one', async () => {
  const { id, snapshot } = await disks.changedMachine()
  controls.failNext('create', { retryable: false, afterEffect: true })
  const { body } = await disks.restore(id, snapshot.id, '?wait=20')
  assert.equal(body.state, 'running')
  assert.equal(await disks.readMark(id), 'after')
  const [reason] = await disks.events(id, /^machine.restore_failed/, 'message')
  assert.equal(reason, 'the disk could not be replaced')

  // The next restore does not use the leftovers of the failed one.
  await disks.mark(id, 'latest')
  const latest = await disks.snapshot(id)
  await disks.mark(id, 'later')
  assert.equal((await disks.restore(id, latest.id, '?wait=20')).body.state, 'running')
  assert.equal(await disks.readMark(id), 'latest')
  await reconcileAll(server.app)
  assert.deepEqual(await disks.generationsOf(id), [3])
})

test('a missing capture and a machine that cannot be stopped are reported as reasons', async () => {
  const { id, snapshot } = await disks.changedMachine()
  const { capture_id } = await db
    .selectFrom('snapshots')
    .select('capture_id')
    .where('id', '=', snapshot.id)
    .executeTakeFirstOrThrow()
  controls.failNext('stop', { times: 6 })
  assert.equal((await disks.restore(id, snapshot.id, '?wait=20')).body.state, 'running')
  controls.loseCapture(capture_id)
  assert.equal((await disks.restore(id, snapshot.id, '?wait=20')).body.state, 'running')
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

test('temporary failures are retried', async () => {
  const { id, snapshot } = await disks.changedMachine()
  for (const method of ['capture', 'stop', 'create', 'start'] as const) {
    controls.failNext(method, { times: 1 })
    controls.failNext(method, { times: 1, afterEffect: true })
  }
  assert.equal((await disks.restore(id, snapshot.id, '?wait=20')).body.state, 'running')
  assert.equal(await disks.readMark(id), 'before')
})

test('a machine can be deleted during its restore, with all its disks', async () => {
  const { id, snapshot } = await disks.changedMachine()
  const hold = controls.hangNext('create', { afterEffect: true })
  await disks.restore(id, snapshot.id)
  await hold.reached
  assert.deepEqual(await disks.generationsOf(id), [1, 2])
  assert.equal((await call('DELETE', `/v1/machines/${id}`)).body.state, 'deleting')
  hold.release()
  await gone(server, id)
  assert.deepEqual(await disks.generationsOf(id), [])
  assert.equal((await disks.snapshotsOf(id)).length, 2)
  assert.equal((await disks.snapshotIn(snapshot.id, 'ready')).id, snapshot.id)
})

test('if the old disk cannot be removed at once, it is removed later', async () => {
  const { id, snapshot } = await disks.changedMachine()
  controls.failNext('destroy')
  await disks.restore(id, snapshot.id, '?wait=20')
  assert.deepEqual(await disks.generationsOf(id), [1, 2])
  await reconcileAll(server.app)
  assert.deepEqual(await disks.generationsOf(id), [2])
  assert.equal(await disks.readMark(id), 'before')
})

test('the meters match the rows', async () => {
  await disks.settledCaptures()
  await checkMeters(db)
})
