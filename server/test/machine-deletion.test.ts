import type { MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { assertRefused, holdMachine, onDisksOf } from './disks.ts'
import { collide } from './forced-race.ts'
import { startTestServer } from './harness.ts'
import { checkMeters } from './meter-checks.ts'
import { eventually, gone, settled } from './settled.ts'

const server = await startTestServer({ after })
const { call } = server
const { controls } = server.engine
const { db } = server.app
const disks = onDisksOf(server)

test('the snapshots of a machine go with it, newest first, the automatic one too', async () => {
  const { id } = await server.machine()
  const older = await disks.snapshot(id, 'older')
  const newer = await disks.snapshot(id, 'newer')
  await disks.move(id, 'stop')
  const [stop] = await disks.snapshotsOf(id, '&origin=stop')
  await disks.snapshotIn(stop.id, 'ready')
  const other = await server.machine()
  const spared = await disks.snapshot(other.id)

  const deleted = await remove(id)
  assert.deepEqual([deleted.status, deleted.body.state], [202, 'deleting'])
  const states = (await disks.snapshotsOf(id)).map(({ state }) => state)
  assert.ok(states.every((state) => state === 'deleting'))
  await gone(server, id)
  for (const snapshot of [older, newer, stop]) await disks.goneFrom(`/v1/snapshots/${snapshot.id}`)
  const messages = await disks.events(id, /^snapshot.deleted/, 'message')
  const ids = messages.map((message) => /snp_\w+/.exec(message)![0])
  assert.deepEqual(ids, [stop.id, newer.id, older.id])
  assert.equal(await disks.settledCaptures(), 1)
  assert.equal((await disks.snapshotIn(spared.id, 'ready')).id, spared.id)
})

test('without the parameter snapshots are kept, and a deletion under way still takes them', async () => {
  const { id } = await server.machine()
  const { id: snapshotId } = await disks.snapshot(id)
  const hold = controls.hangNext('destroy')
  assert.equal((await call('DELETE', `/v1/machines/${id}`)).status, 202)
  await hold.reached
  assert.equal((await disks.snapshotIn(snapshotId, 'ready')).id, snapshotId)
  assert.equal((await remove(id)).body.state, 'deleting')
  hold.release()
  await gone(server, id)
  await disks.goneFrom(`/v1/snapshots/${snapshotId}`)
  assert.equal((await remove(id)).status, 404)
  const unknown = await call('DELETE', `/v1/machines/${id}?snapshots=keep`)
  assertRefused(unknown, 'invalid_request', /./)
})

test('a caller who may not delete snapshots deletes nothing', async () => {
  const { id } = await server.machine()
  const snapshot = await disks.snapshot(id)
  const key = await server.apiKey({ scopes: ['machines:write'] })
  const path = `/v1/machines/${id}?snapshots=delete`
  const refused = await key.call('DELETE', path)
  assertRefused(refused, 'permission_denied', /requires the permission snapshots:delete/)
  assert.equal((await disks.machineIn(id, 'running')).id, id)
  assert.equal((await disks.snapshotIn(snapshot.id, 'ready')).id, snapshot.id)
  const other = await server.apiKey({ scopes: ['snapshots:write'] })
  assertRefused(await other.call('DELETE', path), 'permission_denied', /machines:delete/)
  const both = await server.apiKey({ scopes: ['machines:write', 'snapshots:write'] })
  assert.equal((await both.call('DELETE', path)).status, 202)
  await gone(server, id)
})

test('templates and forks keep the disk of a snapshot that goes with its machine', async () => {
  const source = await server.machine()
  await disks.mark(source.id, 'kept')
  const snapshot = await disks.snapshot(source.id)
  const input = { name: 'of a snapshot', snapshot_id: snapshot.id }
  const { body: template } = await call('POST', '/v1/templates', input)
  const hold = controls.hangNext('create')
  const { body: fork } = await call('POST', `/v1/machines/${source.id}/fork`, {
    snapshot_id: snapshot.id,
  })
  await hold.reached
  await remove(source.id)
  hold.release()
  await gone(server, source.id)
  await disks.goneFrom(`/v1/snapshots/${snapshot.id}`)
  await settled(server, fork.id, 'running')
  assert.equal(await disks.readMark(fork.id), 'kept')
  const after = await call('GET', `/v1/templates/${template.id}`)
  assert.deepEqual([after.body.state, after.body.snapshot_id], ['ready', null])
  const made = await server.machine({ template: template.id })
  assert.equal(await disks.readMark(made.id), 'kept')
  await call('DELETE', `/v1/templates/${template.id}`)
})

test('snapshots that are still being taken go when they are made, unless a template needs them', async () => {
  const source = await server.machine()
  await disks.mark(source.id, 'kept')
  const hold = controls.hangNext('capture')
  const { body: pending } = await call('POST', '/v1/snapshots', { machine_id: source.id })
  await hold.reached
  const asked = { name: 'of a machine', machine_id: source.id }
  const { body: building } = await call('POST', '/v1/templates', asked)
  await remove(source.id)
  hold.release()
  await gone(server, source.id)
  await disks.goneFrom(`/v1/snapshots/${pending.id}`)
  const template = await disks.templateIn(building.id, 'ready')
  assert.ok(template.size_bytes > 0)
  const completed = await disks.events(source.id, /^snapshot.completed/, 'message')
  assert.deepEqual(completed, [`template ${template.id} "of a machine"`])
  await checkMeters(db)
  assert.equal((await storedBytes(source.id)).length, 1)
  assert.equal(await disks.readMark((await server.machine({ template: template.id })).id), 'kept')
  await call('DELETE', `/v1/templates/${template.id}`)
  await eventually(async () => (await storedBytes(source.id)).length === 0 || undefined)
})

test('a template whose snapshot went fails with a reason if its disk cannot be captured', async () => {
  const source = await server.machine()
  const hold = controls.hangNext('capture')
  const first = await call('POST', '/v1/snapshots', { machine_id: source.id })
  await hold.reached
  const asked = { name: 'never made', machine_id: source.id }
  const { body: building } = await call('POST', '/v1/templates', asked)
  await remove(source.id)
  controls.failNext('capture', { retryable: false })
  hold.release()
  await gone(server, source.id)
  await disks.goneFrom(`/v1/snapshots/${first.body.id}`)
  await disks.templateIn(building.id, 'error')
  const failed = await disks.events(source.id, /^snapshot.failed/, 'message')
  assert.deepEqual(failed, [
    `template ${building.id} "never made": the disk could not be copied; try again`,
  ])
  await call('DELETE', `/v1/templates/${building.id}`)
})

test('a restore under way gives way to the deletion of its machine and the snapshots', async () => {
  const { id, snapshot } = await disks.changedMachine()
  const hold = controls.hangNext('create')
  assert.equal((await disks.restore(id, snapshot.id)).status, 202)
  await hold.reached
  assert.equal((await remove(id)).status, 202)
  hold.release()
  await gone(server, id)
  await eventually(async () => (await disks.snapshotsOf(id)).length === 0 || undefined)
})

test('a snapshot races with the deletion of its machine: it goes, or is refused', async () => {
  for (const order of [0, 1]) {
    const { id } = await server.machine()
    const calls = [() => call('POST', '/v1/snapshots', { machine_id: id }), () => remove(id)]
    const answers = await collide(db, holdMachine(id), order ? calls.toReversed() : calls)
    const [taken, deleted] = order ? answers.toReversed() : answers
    assert.equal(deleted!.status, 202)
    if (taken!.status === 202) await disks.goneFrom(`/v1/snapshots/${taken!.body.id}`)
    else assertRefused(taken!, 'precondition_failed', /is deleting/)
    await gone(server, id)
  }
})

test('a snapshot of a deleted machine is of use: a template from it; fork and restore say so', async () => {
  const source = await server.machine({ name: 'orphans' })
  await disks.mark(source.id, 'kept')
  const snapshot = await disks.snapshot(source.id)
  await call('DELETE', `/v1/machines/${source.id}`)
  await gone(server, source.id)

  const input = { snapshot_id: snapshot.id }
  for (const verb of ['fork', 'restore']) {
    const refused = await call('POST', `/v1/machines/${source.id}/${verb}`, input)
    assertRefused(
      refused,
      'not_found',
      /was deleted; to use one of its snapshots, create a template/,
    )
    const stranger = server.as(await server.user('owner', 'stranger'))
    const foreign = await stranger('POST', `/v1/machines/${source.id}/${verb}`, input)
    assertRefused(foreign, 'not_found', /there is no machine/)
  }
  const made = { name: 'from an orphan', snapshot_id: snapshot.id }
  const { body: template } = await call('POST', '/v1/templates', made)
  assert.equal(template.state, 'ready')
  const machine = await server.machine({ template: template.id, name: 'orphans' })
  assert.equal(await disks.readMark(machine.id), 'kept')
  await call('DELETE', `/v1/templates/${template.id}`)
  assert.equal((await call('DELETE', `/v1/snapshots/${snapshot.id}`)).status, 202)
})

test('the meters and the captures of the engine match the rows', async () => {
  await disks.settledCaptures()
  await checkMeters(db)
})

function remove(id: string) {
  return call('DELETE', `/v1/machines/${id}?snapshots=delete`)
}

/** The open meters of captures of a machine. */
async function storedBytes(id: string) {
  return db
    .selectFrom('meter_intervals')
    .select('bytes')
    .where('machine_id', '=', id as MachineId)
    .where('capture_id', 'is not', null)
    .where('ended_at', 'is', sql<null>`null`)
    .execute()
}
