import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { assertRefused, holdCapturesOf, onDisksOf } from './disks.ts'
import { collide } from './forced-race.ts'
import { startTestServer } from './harness.ts'
import { checkMeters } from './meter-checks.ts'
import { gone } from './settled.ts'

const server = await startTestServer({ after })
const { call } = server
const { controls } = server.engine
const { db } = server.app
const disks = onDisksOf(server)

test('deleting a template keeps its machines and removes only a snapshot of its own', async () => {
  const { id: machine_id } = await server.machine()
  const snapshot = await disks.snapshot(machine_id)
  const { body: standing } = await make({ snapshot_id: snapshot.id })
  const { body: own } = await make({ machine_id })
  await disks.templateIn(own.id, 'ready')
  const machine = await server.machine({ template: own.id })
  for (const { id } of [standing, own]) {
    assert.deepEqual([(await remove(id)).status, (await remove(id)).status], [204, 404])
    assert.equal((await call('GET', `/v1/templates/${id}`)).status, 404)
  }
  await disks.goneFrom(`/v1/snapshots/${own.snapshot_id}`)
  assert.equal((await disks.snapshotIn(snapshot.id, 'ready')).id, snapshot.id)
  const { body } = await call('GET', `/v1/machines/${machine.id}`)
  assert.deepEqual([body.state, body.template_id], ['running', own.id])
  await disks.move(machine.id, 'restart')
})

test('a template deleted while it is built leaves nothing behind', async () => {
  const { id: machine_id } = await server.machine()
  const hold = controls.hangNext('capture')
  const { body } = await make({ machine_id })
  await hold.reached
  assert.equal((await remove(body.id)).status, 204)
  assert.equal((await call('GET', `/v1/snapshots/${body.snapshot_id}`)).body.state, 'deleting')
  hold.release()
  await disks.goneFrom(`/v1/snapshots/${body.snapshot_id}`)
  assert.deepEqual(await disks.snapshotsOf(machine_id), [])
})

test('a template outlives its snapshot, and the disk is removed with the last of them', async () => {
  const { id: machine_id } = await server.machine()
  await disks.mark(machine_id, 'kept')
  const snapshot = await disks.snapshot(machine_id)
  const { body: one } = await make({ snapshot_id: snapshot.id })
  const { body: two } = await make({ snapshot_id: snapshot.id })
  const before = await disks.settledCaptures()
  const { status, body } = await call('DELETE', `/v1/snapshots/${snapshot.id}`)
  assert.deepEqual([status, body.state], [202, 'deleting'])
  assert.equal((await call('GET', `/v1/snapshots/${snapshot.id}`)).status, 404)
  assert.equal((await call('GET', `/v1/templates/${one.id}`)).body.snapshot_id, null)
  await call('DELETE', `/v1/machines/${machine_id}`)
  await gone(server, machine_id)
  await remove(one.id)
  const machine = await server.machine({ template: two.id })
  assert.equal(await disks.readMark(machine.id), 'kept')
  assert.equal(await disks.settledCaptures(), before)
  await remove(two.id)
  assert.equal(await disks.settledCaptures(), before - 1)
})

test('the snapshot of a deleted template stays while another template uses it', async () => {
  const { id: machine_id } = await server.machine()
  const { body: first } = await make({ machine_id })
  await disks.templateIn(first.id, 'ready')
  const { body: second } = await make({ snapshot_id: first.snapshot_id })
  await remove(first.id)
  assert.equal((await disks.snapshotIn(first.snapshot_id, 'ready')).origin, 'template')
  await remove(second.id)
  await disks.goneFrom(`/v1/snapshots/${first.snapshot_id}`)
})

test('a machine created while its template is deleted has its disk, or is refused', async () => {
  for (const order of [0, 1]) {
    const { id: machine_id } = await server.machine()
    await disks.mark(machine_id, 'raced')
    const { body: template } = await make({ machine_id })
    await disks.templateIn(template.id, 'ready')
    const calls = [
      () => call('POST', '/v1/machines', { template: template.id, start: false }),
      () => remove(template.id),
    ]
    const answers = await collide(
      db,
      holdCapturesOf(machine_id),
      order ? calls.toReversed() : calls,
    )
    const [made, removed] = order ? answers.toReversed() : answers
    assert.equal(removed!.status, 204)
    if (made!.status === 201) {
      await disks.move(made!.body.id, 'start')
      assert.equal(await disks.readMark(made!.body.id), 'raced')
    } else assert.equal(made!.status, 404, JSON.stringify(made!.body))
  }
})

test('a template created while its snapshot is deleted has its disk, or is refused', async () => {
  for (const order of [0, 1]) {
    const { id } = await server.machine()
    const snapshot = await disks.snapshot(id)
    const calls = [
      () => make({ snapshot_id: snapshot.id }),
      () => call('DELETE', `/v1/snapshots/${snapshot.id}`),
    ]
    const answers = await collide(db, holdCapturesOf(id), order ? calls.toReversed() : calls)
    const [made, removed] = order ? answers.toReversed() : answers
    assert.equal(removed!.status, 202)
    if (made!.status === 201) {
      const machine = await server.machine({ template: made!.body.id })
      assert.equal(machine.state, 'running')
    } else assertRefused(made!, 'precondition_failed', /is deleting/)
    await disks.goneFrom(`/v1/snapshots/${snapshot.id}`)
  }
})

test('the meters match the rows', async () => {
  await disks.settledCaptures()
  await checkMeters(db)
})

function make(input: object) {
  return call('POST', '/v1/templates', { name: `template ${randomUUID()}`, ...input })
}

function remove(id: string) {
  return call('DELETE', `/v1/templates/${id}`)
}
