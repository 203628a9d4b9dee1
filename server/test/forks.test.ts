import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { assertRefused, holdMachine, onDisksOf } from './disks.ts'
import { collide, holdOrganization } from './forced-race.ts'
import { startTestServer } from './harness.ts'
import { fiftyWithOneKey } from './one-key.ts'
import { checkMeters } from './meter-checks.ts'
import { eventually, gone, settled } from './settled.ts'

const server = await startTestServer({ after })
const { call } = server
const { controls } = server.engine
const { db } = server.app
const disks = onDisksOf(server)

test('a fork returns at once, and runs on the disk as it was at the call', async () => {
  const input = { size: 'standard', region: 'eu-1', metadata: { team: 'red' } }
  const source = await server.machine(input)
  await disks.mark(source.id, 'before')
  const hold = controls.hangNext('capture', { afterEffect: true })
  const { status, body } = await fork(source.id, { name: 'the-fork' })
  assert.deepEqual([status, body.state], [201, 'creating'])
  const { name, size, disk_gb, region, image_id, template_id, metadata } = body
  assert.deepEqual(
    { name, size, disk_gb, region, image_id, template_id, metadata },
    {
      name: 'the-fork',
      size: 'standard',
      disk_gb: 25,
      region: 'eu-1',
      image_id: server.imageId,
      template_id: null,
      metadata: {},
    },
  )
  await hold.reached
  await disks.mark(source.id, 'after')
  assert.equal((await call('GET', `/v1/machines/${body.id}`)).body.state, 'creating')
  hold.release()
  await settled(server, body.id, 'running')
  assert.equal(await disks.readMark(body.id), 'before')
  assert.equal(await disks.readMark(source.id), 'after')
  const [created] = await disks.events(body.id, /^machine.created/, 'message')
  assert.equal(created, `forked from machine ${source.id}`)
  const { base_capture_id, base_bytes } = await disks.row(body.id)
  assert.deepEqual([base_capture_id, base_bytes > 0], [null, true])
  await eventually(async () => (await captured()) === 0 || undefined)
  assert.deepEqual(await disks.snapshotsOf(source.id), [])
})

test('a fork of a snapshot has its disk, whatever the state of the source', async () => {
  const source = await server.machine()
  await disks.mark(source.id, 'kept')
  const snapshot = await disks.snapshot(source.id, 'kept')
  await disks.mark(source.id, 'changed')
  await disks.move(source.id, 'stop')
  const { status, body } = await fork(source.id, { snapshot_id: snapshot.id, metadata: { a: 'b' } })
  assert.deepEqual([status, body.state, body.metadata], [201, 'creating', { a: 'b' }])
  await settled(server, body.id, 'running')
  assert.equal(await disks.readMark(body.id), 'kept')
  const [created] = await disks.events(body.id, /^machine.created/, 'message')
  assert.equal(created, `forked from snapshot ${snapshot.id} "kept"`)
  assert.equal((await disks.row(body.id)).base_bytes, snapshot.size_bytes)

  await call('DELETE', `/v1/machines/${source.id}`)
  await gone(server, source.id)
  await disks.move(body.id, 'restart')
  const again = await disks.snapshot(body.id)
  assert.ok(again.size_bytes >= snapshot.size_bytes)
})

test('a fork that is not possible is refused with the reason', async () => {
  const source = await server.machine()
  const other = await server.machine()
  const foreign = await disks.snapshot(other.id)
  const path = { snapshot_id: foreign.id }
  assertRefused(await fork(source.id, path), 'invalid_request', new RegExp(other.id))
  const hold = controls.hangNext('capture')
  const { body: pending } = await call('POST', '/v1/snapshots', { machine_id: source.id })
  const early = await fork(source.id, { snapshot_id: pending.id })
  assertRefused(early, 'precondition_failed', /is pending/)
  await hold.reached
  hold.release()
  await disks.snapshotIn(pending.id, 'ready')
  await disks.move(source.id, 'stop')
  assertRefused(await fork(source.id, {}), 'precondition_failed', /is stopped/)
  const boot = controls.holdBoot()
  await call('POST', `/v1/machines/${source.id}/start`)
  assertRefused(await fork(source.id, {}), 'compute_unavailable', /is starting/)
  boot.release()
  await settled(server, source.id, 'running')
  const taken = await fork(source.id, { name: other.name })
  assertRefused(taken, 'conflict', new RegExp(other.name))
  const stranger = server.as(await server.user('owner', 'stranger'))
  assert.equal((await stranger('POST', `/v1/machines/${source.id}/fork`, {})).status, 404)
})

test('a fork whose source cannot be captured is in error, and start takes another capture', async () => {
  const source = await server.machine()
  await disks.mark(source.id, 'second try')
  controls.failNext('capture', { retryable: false })
  const { body } = await fork(source.id, {})
  await settled(server, body.id, 'error')
  const [message] = await disks.events(body.id, /^machine.failed/, 'message')
  assert.match(
    message!,
    new RegExp(`machine ${source.id} could not be captured: the disk could not`),
  )

  await disks.move(source.id, 'stop')
  const refused = await call('POST', `/v1/machines/${body.id}/start`)
  assertRefused(refused, 'precondition_failed', new RegExp(`${source.id} could not be captured`))
  await disks.move(source.id, 'start')
  await disks.move(body.id, 'start')
  assert.equal(await disks.readMark(body.id), 'second try')
})

test('a fork whose disk could not be created is retried from the same capture', async () => {
  const source = await server.machine()
  await disks.mark(source.id, 'then')
  controls.failNext('create', { retryable: false })
  const { body } = await fork(source.id, {})
  await settled(server, body.id, 'error')
  await disks.mark(source.id, 'now')
  await disks.move(body.id, 'start')
  assert.equal(await disks.readMark(body.id), 'then')
})

test('deleting a fork does not wait for its capture, which is removed', async () => {
  const source = await server.machine()
  const before = await captured()
  const hold = controls.hangNext('capture')
  const { body } = await fork(source.id, {})
  await hold.reached
  await call('DELETE', `/v1/machines/${body.id}`)
  await gone(server, body.id)
  hold.release()
  await eventually(async () => (await captured()) === before || undefined)
  assert.equal((await call('GET', `/v1/machines/${source.id}`)).body.state, 'running')
})

test('a fork made while its source is deleted has its disk, or is refused', async () => {
  for (const order of [0, 1]) {
    const source = await server.machine()
    await disks.mark(source.id, 'raced')
    const calls = [() => fork(source.id, {}), () => call('DELETE', `/v1/machines/${source.id}`)]
    const hold = holdMachine(source.id)
    const answers = await collide(db, hold, order ? calls.toReversed() : calls)
    const [forked, deleted] = order ? answers.toReversed() : answers
    assert.equal(deleted!.status, 202)
    if (forked!.status === 201) {
      await settled(server, forked!.body.id, 'running')
      assert.equal(await disks.readMark(forked!.body.id), 'raced')
    } else assertRefused(forked!, 'precondition_failed', /is deleting/)
    await gone(server, source.id)
  }
})

test('a plan counts forks as machines', async (t) => {
  const small = await startTestServer(t, { plan: 'developer' })
  const source = await small.machine()
  const [organization] = await small.app.db.selectFrom('organizations').select('id').execute()
  const last = () => small.call('POST', `/v1/machines/${source.id}/fork`, {})
  const hold = holdOrganization(organization!.id)
  const answers = await collide(
    small.app.db,
    hold,
    Array.from({ length: 10 }, () => last),
  )
  assert.equal(answers.filter(({ status }) => status === 201).length, 2)
  const { quota } = answers.find(({ status }) => status === 402)!.body.error
  assert.deepEqual([quota.limit, quota.current, quota.maximum], ['running_machines', 3, 3])
  await onDisksOf(small).settledCaptures()
})

test('fifty concurrent calls with one key create one fork', async () => {
  const source = await server.machine()
  const headers = { 'idempotency-key': randomUUID() }
  const ask = () => call('POST', `/v1/machines/${source.id}/fork`, {}, headers)
  const before = (await call('GET', '/v1/machines?limit=100')).body.data.length
  const replayed = await fiftyWithOneKey(ask, 201)
  assert.equal(replayed.body.state, 'creating')
  assert.equal((await call('GET', '/v1/machines?limit=100')).body.data.length, before + 1)
  await settled(server, replayed.body.id, 'running')
})

test('the meters match the rows', async () => {
  await disks.settledCaptures()
  await checkMeters(db)
})

function fork(id: string, input: object) {
  return call('POST', `/v1/machines/${id}/fork`, input)
}

async function captured(): Promise<number> {
  return (await server.app.driver.listCaptures()).length
}
