import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { assertRefused, holdMachine, onDisksOf } from './disks.ts'
import { collide, holdOrganization } from './forced-race.ts'
import { startTestServer } from './harness.ts'
import { fiftyWithOneKey } from './one-key.ts'
import { checkMeters } from './meter-checks.ts'
import { gone, settled } from './settled.ts'

const server = await startTestServer({ after })
const { call } = server
const { db } = server.app
const disks = onDisksOf(server)

test('a snapshot is pending, then ready, with every field of the contract', async () => {
  const { id: machine_id } = await server.machine()
  await disks.mark(machine_id, 'twelve bytes')
  const asked = await call('POST', '/v1/snapshots', { machine_id, name: 'Before the upgrade' })
  assert.equal(asked.status, 202)
  const { id, organization_id, created_at, ...pending } = asked.body
  assert.match(id, /^snp_[0-9a-z]{26}$/)
  assert.match(organization_id, /^org_/)
  assert.deepEqual(pending, {
    machine_id,
    name: 'Before the upgrade',
    state: 'pending',
    origin: 'manual',
    includes_memory: false,
    image_id: server.imageId,
    size_bytes: null,
    completed_at: null,
    error: null,
  })
  const { size_bytes, completed_at, ...ready } = await disks.snapshotIn(id, 'ready')
  const rest = { ...pending, id, organization_id, created_at, state: 'ready' }
  assert.deepEqual({ ...ready, size_bytes: null, completed_at: null }, rest)
  assert.ok(size_bytes >= 12)
  assert.ok(completed_at >= created_at)
  assert.equal((await disks.machineIn(machine_id, 'running')).id, machine_id)
  assert.deepEqual(await disks.events(machine_id, /^snapshot/), [
    'snapshot.started',
    'snapshot.completed',
  ])
  const [message] = await disks.events(machine_id, /^snapshot.started/, 'message')
  assert.equal(message, `snapshot ${id} "Before the upgrade"`)
})

test('a missing name is generated, and the list filters by machine, origin and state', async () => {
  const { id } = await server.machine()
  const first = await disks.snapshot(id)
  assert.match(first.name, /^snapshot \d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
  const second = await disks.snapshot(id, 'second')
  await disks.move(id, 'stop')
  const stop = await stopSnapshot(id)
  const ids = async (filter: string) => (await disks.snapshotsOf(id, filter)).map((one) => one.id)
  assert.deepEqual(await ids(''), [stop.id, second.id, first.id])
  assert.deepEqual(await ids('&origin=manual'), [second.id, first.id])
  assert.deepEqual(await ids('&origin=stop&state=ready'), [stop.id])
  assert.deepEqual(await ids('&state=error'), [])
  const page = await call('GET', `/v1/snapshots?machine_id=${id}&limit=2`)
  assert.equal(page.body.has_more, true)
  assert.deepEqual(await ids(`&limit=2&cursor=${page.body.next_cursor}`), [first.id])
})

test('only a running machine can be captured', async () => {
  const { id: machine_id } = await server.machine({ start: false })
  const ask = () => call('POST', '/v1/snapshots', { machine_id })
  assertRefused(await ask(), 'precondition_failed', /is stopped/)
  const hold = server.engine.controls.holdBoot()
  await call('POST', `/v1/machines/${machine_id}/start`)
  const booting = await ask()
  assertRefused(booting, 'compute_unavailable', /is starting/)
  assert.equal(booting.headers['retry-after'], '1')
  hold.release()
  await settled(server, machine_id, 'running')
  assert.equal((await ask()).status, 202)
  const stranger = server.as(await server.user('owner', 'stranger'))
  assert.equal((await stranger('POST', '/v1/snapshots', { machine_id })).status, 404)
})

test('a stop takes a snapshot, which replaces that of the previous stop', async () => {
  const { id } = await server.machine()
  await disks.move(id, 'stop')
  const first = await stopSnapshot(id)
  assert.match(first.name, /^stopped \d{4}-/)
  await disks.move(id, 'start')
  const kept = await disks.snapshot(id)
  await disks.mark(id, 'second')
  await disks.move(id, 'stop')
  await disks.goneFrom(`/v1/snapshots/${first.id}`)
  const second = await stopSnapshot(id)
  assert.deepEqual(
    (await disks.snapshotsOf(id)).map((one) => one.id),
    [second.id, kept.id],
  )
  assert.deepEqual(await disks.events(id, /^snapshot.deleted/), ['snapshot.deleted'])
})

test('a power-off by the guest is captured; a death, a restart and a creation are not', async () => {
  const { id } = await server.machine()
  server.engine.controls.powerOff({ id, generation: 1 })
  await settled(server, id, 'stopped')
  assert.equal((await stopSnapshot(id)).origin, 'stop')

  const { id: unstarted } = await server.machine({ start: false })
  await disks.move(unstarted, 'start')
  await disks.move(unstarted, 'restart')
  server.engine.controls.die({ id: unstarted, generation: 1 })
  await settled(server, unstarted, 'error')
  assert.deepEqual(await disks.snapshotsOf(unstarted), [])
})

test('a snapshot requested before a stop, a start or a deletion is captured before it', async () => {
  const { controls } = server.engine
  for (const verb of ['stop', 'restart', 'delete'] as const) {
    const { id: machine_id } = await server.machine()
    await disks.mark(machine_id, verb)
    const hold = controls.hangNext('capture')
    const { body: first } = await call('POST', '/v1/snapshots', { machine_id, name: 'first' })
    await hold.reached
    const { body: second } = await call('POST', '/v1/snapshots', { machine_id, name: 'second' })
    const path = `/v1/machines/${machine_id}`
    if (verb === 'delete') await call('DELETE', path)
    else await call('POST', `${path}/${verb}`)
    assert.equal(await server.app.driver.inspect({ id: machine_id, generation: 1 }), 'running')
    hold.release()
    for (const { id } of [first, second]) await disks.snapshotIn(id, 'ready')
    if (verb === 'delete') await gone(server, machine_id)
    else await settled(server, machine_id, verb === 'stop' ? 'stopped' : 'running')
  }
})

test('only the newest snapshot can be deleted, and the refusal names it', async () => {
  const { id } = await server.machine()
  const oldest = await disks.snapshot(id, 'oldest')
  const middle = await disks.snapshot(id, 'middle')
  const newest = await disks.snapshot(id, 'newest')
  const refused = await remove(oldest.id)
  assert.equal(refused.status, 409)
  assertRefused(refused, 'conflict', new RegExp(`delete snapshot ${newest.id} "newest" first`))

  const hold = server.engine.controls.hangNext('removeCapture')
  const going = await remove(newest.id)
  assert.deepEqual([going.status, going.body], [202, { ...newest, state: 'deleting' }])
  const again = await remove(newest.id)
  assert.deepEqual([again.status, again.body], [202, going.body])
  assert.equal((await call('GET', `/v1/snapshots/${newest.id}`)).body.state, 'deleting')
  // A snapshot that is being deleted does not block others.
  await hold.reached
  assert.equal((await remove(middle.id)).status, 202)
  hold.release()
  for (const snapshot of [newest, middle]) await disks.goneFrom(`/v1/snapshots/${snapshot.id}`)
  assert.equal((await remove(newest.id)).status, 404)
  assert.equal((await remove(oldest.id)).status, 202)
  await disks.goneFrom(`/v1/snapshots/${oldest.id}`)
  assert.equal((await disks.events(id, /^snapshot.deleted/)).length, 3)
})

test('a pending snapshot cannot be deleted and blocks others; a failed one can be, and blocks none', async (t) => {
  const other = await startTestServer(t)
  const at = onDisksOf(other)
  const { id: machine_id } = await other.machine()
  const ready = await at.snapshot(machine_id)
  other.engine.controls.failNext('capture', { retryable: false })
  const { body: failing } = await other.call('POST', '/v1/snapshots', { machine_id })
  const failed = await at.snapshotIn(failing.id, 'error')
  assert.equal(failed.error, 'the disk could not be copied; try again')
  assert.equal((await other.call('DELETE', `/v1/snapshots/${ready.id}`)).status, 202)
  const next = await at.snapshot(machine_id)
  assert.equal((await other.call('DELETE', `/v1/snapshots/${failed.id}`)).status, 202)

  const hold = other.engine.controls.hangNext('capture')
  const { body: pending } = await other.call('POST', '/v1/snapshots', { machine_id })
  await hold.reached
  const early = await other.call('DELETE', `/v1/snapshots/${pending.id}`)
  assertRefused(early, 'conflict', /still being taken/)
  const behind = await other.call('DELETE', `/v1/snapshots/${next.id}`)
  assertRefused(behind, 'conflict', new RegExp(pending.id))
  hold.release()
  await at.snapshotIn(pending.id, 'ready')
})

test('snapshots outlive their machine, and can then be deleted', async () => {
  const { id } = await server.machine()
  const older = await disks.snapshot(id)
  const newer = await disks.snapshot(id)
  await call('DELETE', `/v1/machines/${id}`)
  await gone(server, id)
  assert.deepEqual(
    (await disks.snapshotsOf(id)).map((one) => one.id),
    [newer.id, older.id],
  )
  assertRefused(await remove(older.id), 'conflict', new RegExp(newer.id))
  for (const { id: snapshotId } of [newer, older]) {
    assert.equal((await remove(snapshotId)).status, 202)
    await disks.goneFrom(`/v1/snapshots/${snapshotId}`)
  }
})

test('a plan counts requested snapshots that have not failed', async (t) => {
  const small = await startTestServer(t, { plan: 'free' })
  const at = onDisksOf(small)
  const { id: machine_id } = await small.machine()
  small.engine.controls.failNext('capture', { retryable: false })
  const { body: failing } = await small.call('POST', '/v1/snapshots', { machine_id })
  await at.snapshotIn(failing.id, 'error')
  await at.move(machine_id, 'stop')
  await at.move(machine_id, 'start')
  await at.snapshot(machine_id)
  const [organization] = await small.app.db.selectFrom('organizations').select('id').execute()
  const last = () => small.call('POST', '/v1/snapshots', { machine_id })
  const hold = holdOrganization(organization!.id)
  const answers = await collide(
    small.app.db,
    hold,
    Array.from({ length: 10 }, () => last),
  )
  const refused = answers.filter(({ status }) => status === 402)
  assert.equal(refused.length, 9, JSON.stringify(answers.map(({ status }) => status)))
  assert.deepEqual(refused[0]!.body.error.quota, {
    limit: 'snapshots_per_machine',
    current: 2,
    maximum: 2,
    plan_id: 'free',
    upgrade_url: `${server.app.config.dashboardUrl}/billing`,
  })
})

test('fifty concurrent calls with one key create one snapshot', async () => {
  const { id: machine_id } = await server.machine()
  const headers = { 'idempotency-key': randomUUID() }
  const ask = () => call('POST', '/v1/snapshots', { machine_id, name: 'once' }, headers)
  await fiftyWithOneKey(ask, 202)
  assert.equal((await disks.snapshotsOf(machine_id)).length, 1)
})

test('a snapshot and the deletion of its machine: captured or refused, never in between', async () => {
  for (const order of [0, 1]) {
    const { id: machine_id } = await server.machine()
    const calls = [
      () => call('POST', '/v1/snapshots', { machine_id }),
      () => call('DELETE', `/v1/machines/${machine_id}`),
    ]
    const [one, two] = await collide(db, holdMachine(machine_id), order ? calls.reverse() : calls)
    const [taken, deleted] = order ? [two!, one!] : [one!, two!]
    assert.equal(deleted.status, 202)
    if (taken.status === 202) await disks.snapshotIn(taken.body.id, 'ready')
    else assertRefused(taken, 'precondition_failed', /is deleting/)
    await gone(server, machine_id)
  }
})

test('a new snapshot races with deleting the newest: both succeed, or the new one blocks the deletion', async () => {
  for (const order of [0, 1]) {
    const { id: machine_id } = await server.machine()
    const newest = await disks.snapshot(machine_id)
    const calls = [() => call('POST', '/v1/snapshots', { machine_id }), () => remove(newest.id)]
    const [one, two] = await collide(db, holdMachine(machine_id), order ? calls.reverse() : calls)
    const [taken, removed] = order ? [two!, one!] : [one!, two!]
    assert.equal(taken.status, 202)
    if (removed.status !== 202) assertRefused(removed, 'conflict', new RegExp(taken.body.id))
    await disks.snapshotIn(taken.body.id, 'ready')
  }
})

test('concurrent deletions of one snapshot delete it once', async () => {
  const { id } = await server.machine()
  const snapshot = await disks.snapshot(id)
  const hold = server.engine.controls.hangNext('removeCapture')
  const answers = await collide(
    db,
    holdMachine(id),
    Array.from({ length: 6 }, () => () => remove(snapshot.id)),
  )
  hold.release()
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([202]))
  await disks.goneFrom(`/v1/snapshots/${snapshot.id}`)
  assert.equal((await disks.events(id, /^snapshot.deleted/)).length, 1)
})

test('the meters and the captures of the engine match the rows', async () => {
  await disks.settledCaptures()
  await checkMeters(db)
})

function remove(id: string) {
  return call('DELETE', `/v1/snapshots/${id}`)
}

async function stopSnapshot(machineId: string) {
  const [snapshot] = await disks.snapshotsOf(machineId, '&origin=stop')
  return disks.snapshotIn(snapshot!.id, 'ready')
}
