import type { MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { assertRefused, holdMachine, onDisksOf } from './disks.ts'
import { collide } from './forced-race.ts'
import { startTestServer } from './harness.ts'
import { checkMeters } from './meter-checks.ts'
import { eventually, settled } from './settled.ts'

const server = await startTestServer({ after })
const { call } = server
const { controls } = server.engine
const { db } = server.app
const disks = onDisksOf(server)

test('a running machine runs again on the disk of the snapshot, and its old disk is kept', async () => {
  const { id, snapshot } = await disks.changedMachine()
  const hold = controls.hangNext('stop')
  const asked = await disks.restore(id, snapshot.id)
  assert.deepEqual([asked.status, asked.body.state], [202, 'stopping'])
  await hold.reached
  const waiting = call('POST', `/v1/machines/${id}/restore`, { snapshot_id: snapshot.id })
  assertRefused(await waiting, 'conflict', /is stopping and a restore of it is under way/)
  hold.release()
  await settled(server, id, 'running')
  assert.equal(await disks.readMark(id), 'before')

  const kept = await disks.beforeRestore(id)
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
  await eventually(async () => (await disks.generationsOf(id)).join() === '2' || undefined)

  const back = await disks.restore(id, kept.id, '?wait=20')
  assert.deepEqual([back.status, back.body.state], [202, 'running'])
  assert.equal(await disks.readMark(id), 'after')
  assert.equal((await disks.row(id)).generation, 3)
})

test('a stopped machine stays stopped, and boots from the new disk on its next start', async () => {
  const { id, snapshot } = await disks.changedMachine()
  await disks.move(id, 'stop')
  const hold = controls.hangNext('create')
  const asked = await disks.restore(id, snapshot.id)
  assert.deepEqual([asked.status, asked.body.state], [202, 'stopped'])
  await hold.reached
  const path = `/v1/machines/${id}`
  for (const answer of [
    await call('POST', `${path}/start`),
    await disks.restore(id, snapshot.id),
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
  assert.equal((await disks.beforeRestore(id)).state, 'ready')
})

test('wait delays the response until the restore of a stopped machine is over', async () => {
  const { id, snapshot } = await disks.changedMachine()
  await disks.move(id, 'stop')
  const { body } = await disks.restore(id, snapshot.id, '?wait=20')
  assert.equal(body.state, 'stopped')
  assert.equal((await disks.row(id)).generation, 2)
})

test('a restore of a machine in error leaves it stopped, even if its disk is gone', async () => {
  for (const isLost of [false, true]) {
    const { id, snapshot } = await disks.changedMachine()
    if (isLost) controls.lose(ref(id))
    else controls.die(ref(id))
    await settled(server, id, 'error')
    const { status, body } = await disks.restore(id, snapshot.id, '?wait=20')
    assert.deepEqual([status, body.state], [202, 'stopped'])
    const kept = await disks.beforeRestore(id)
    assert.equal(kept.state, isLost ? 'error' : 'ready')
    await disks.move(id, 'start')
    assert.equal(await disks.readMark(id), 'before')
  }
})

test('a restore is refused while the lease is held', async () => {
  const { id, snapshot } = await disks.changedMachine()
  const { sessionId } = await server.lease(id)
  const held = await disks.restore(id, snapshot.id)
  assertRefused(held, 'conflict', new RegExp(`held by agent session ${sessionId}`))
  assert.deepEqual(await disks.events(id, /restore/), [])
  await call('DELETE', `/v1/machines/${id}/input-lease?session_id=${sessionId}`)
  assert.equal((await disks.restore(id, snapshot.id, '?wait=20')).body.state, 'running')
})

test('a restore that is not possible is refused with the reason', async () => {
  const { id, snapshot } = await disks.changedMachine()
  const other = await server.machine()
  const foreign = await disks.snapshot(other.id)
  assertRefused(await disks.restore(id, foreign.id), 'invalid_request', new RegExp(other.id))
  const hold = controls.hangNext('capture')
  const { body: pending } = await call('POST', '/v1/snapshots', { machine_id: id })
  assertRefused(await disks.restore(id, pending.id), 'precondition_failed', /is pending/)
  await hold.reached
  hold.release()
  await disks.snapshotIn(pending.id, 'ready')
  const stopping = controls.hangNext('stop')
  await call('POST', `/v1/machines/${id}/stop`)
  assertRefused(await disks.restore(id, snapshot.id), 'conflict', /from stopping to stopping/)
  await stopping.reached
  stopping.release()
  await settled(server, id, 'stopped')
  const stranger = server.as(await server.user('owner', 'stranger'))
  for (const [machineId, snapshotId] of [
    [id, snapshot.id],
    [other.id, `snp_${'0'.repeat(26)}`],
  ] as const) {
    const input = { snapshot_id: snapshotId }
    assert.equal((await stranger('POST', `/v1/machines/${machineId}/restore`, input)).status, 404)
  }
})

test('at most two Before restore snapshots exceed the quota, and the oldest is deleted', async (t) => {
  const small = await startTestServer(t, { plan: 'free' })
  const own = onDisksOf(small)
  const { id, snapshot } = await own.changedMachine()
  await own.snapshot(id, 'second')
  const restore = async (snapshotId: string) => {
    const { body } = await own.restore(id, snapshotId, '?wait=20')
    assert.equal(body.state, 'running')
    return own.beforeRestore(id)
  }
  const kept = async () =>
    (await own.snapshotsOf(id, '&state=ready')).map(({ id: one, name }) =>
      name === 'Before restore' ? one : name,
    )
  const [first, second] = [await restore(snapshot.id), await restore(snapshot.id)]
  assert.deepEqual(await kept(), [second.id, first.id, 'second', 'first'])
  const third = await restore(snapshot.id)
  assert.deepEqual(await kept(), [third.id, second.id, 'second', 'first'])
  await own.goneFrom(`/v1/snapshots/${first.id}`)
  assert.equal(await own.settledCaptures(), 4)

  // The oldest is the one that the machine goes back to.
  const fourth = await restore(second.id)
  assert.equal(await own.readMark(id), 'before')
  assert.deepEqual(await kept(), [fourth.id, second.id, 'second', 'first'])
  assert.equal(await own.settledCaptures(), 4)
  await checkMeters(small.app.db)
})

test('within the quota, Before restore snapshots are not deleted', async () => {
  const { id, snapshot } = await disks.changedMachine()
  for (let times = 0; times < 5; times += 1) await disks.restore(id, snapshot.id, '?wait=20')
  assert.equal((await disks.snapshotsOf(id, '&state=ready')).length, 6)
})

test('a template keeps the disk of a Before restore snapshot that is deleted', async (t) => {
  const small = await startTestServer(t, { plan: 'free' })
  const own = onDisksOf(small)
  const { id, snapshot } = await own.changedMachine()
  await own.restore(id, snapshot.id, '?wait=20')
  const kept = await own.beforeRestore(id)
  const named = { name: 'kept', snapshot_id: kept.id }
  const { body: template } = await small.call('POST', '/v1/templates', named)
  for (let times = 0; times < 3; times += 1) await own.restore(id, snapshot.id, '?wait=20')
  await own.goneFrom(`/v1/snapshots/${kept.id}`)
  await own.templateIn(template.id, 'ready')
  assert.equal(await own.settledCaptures(), 5)
})

test('a snapshot cannot be deleted while it is being restored', async () => {
  const { id, snapshot } = await disks.changedMachine()
  const hold = controls.hangNext('stop')
  await disks.restore(id, snapshot.id)
  await hold.reached
  const kept = await disks.beforeRestore(id)
  await disks.snapshotIn(kept.id, 'ready')
  assert.equal((await call('DELETE', `/v1/snapshots/${kept.id}`)).status, 202)
  const refused = await call('DELETE', `/v1/snapshots/${snapshot.id}`)
  assertRefused(refused, 'conflict', /is being restored to it/)
  hold.release()
  await settled(server, id, 'running')
  assert.equal((await call('DELETE', `/v1/snapshots/${snapshot.id}`)).status, 202)
})

test('of concurrent restores of one machine, one is accepted', async () => {
  const { id, snapshot } = await disks.changedMachine()
  const ask = () => disks.restore(id, snapshot.id)
  const answers = await collide(db, holdMachine(id), [ask, ask, ask])
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [202, 409, 409])
  for (const answer of answers.filter(({ status }) => status === 409)) {
    assertRefused(answer, 'conflict', /under way/)
  }
  await settled(server, id, 'running')
  assert.equal((await disks.row(id)).generation, 2)
})

test('a restore succeeds even if the plan is used up', async (t) => {
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

test('the meters match the rows', async () => {
  await disks.settledCaptures()
  await checkMeters(db)
})

function ref(id: MachineId) {
  return { id, generation: 1 }
}
