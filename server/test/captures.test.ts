import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { newId } from '../src/ids.ts'
import { reconcileAll } from '../src/worker/reconcile.ts'
import { assertRefused, onDisksOf } from './disks.ts'
import { startTestServer } from './harness.ts'
import { checkMeters } from './meter-checks.ts'
import { eventually, gone, settled } from './settled.ts'

const server = await startTestServer({ after })
const { call } = server
const { controls } = server.engine
const { app } = server
const { db, driver } = app
const disks = onDisksOf(server)

test('a machine is flushed before its capture, which also succeeds if the guest is silent', async () => {
  const { id } = await server.machine()
  await disks.snapshot(id)
  assert.equal(controls.guest(ref(id)).flushes, 1)
  const silence = controls.holdBoot()
  controls.reboot(ref(id))
  await disks.snapshot(id)
  silence.release()
  assert.equal(controls.guest(ref(id)).flushes, 0)
})

test('temporary failures are retried, and one snapshot is taken', async () => {
  const { id } = await server.machine()
  controls.failNext('capture', { times: 1 })
  controls.failNext('capture', { times: 1, afterEffect: true })
  await disks.snapshot(id)
  assert.deepEqual(await disks.events(id, /^snapshot/), ['snapshot.started', 'snapshot.completed'])
})

test('a capture that fails three times ends in error, and the machine runs on', async () => {
  const { id: machine_id } = await server.machine()
  controls.failNext('capture', { times: 3, afterEffect: true })
  const { body: asked } = await call('POST', '/v1/snapshots', { machine_id })
  const failed = await disks.snapshotIn(asked.id, 'error')
  assert.equal(failed.error, 'the disk could not be copied; try again')
  assert.deepEqual([failed.size_bytes, failed.completed_at], [null, null])
  const [message] = await disks.events(machine_id, /^snapshot.failed/, 'message')
  assert.match(message!, /could not be copied/)
  assert.equal((await disks.machineIn(machine_id, 'running')).id, machine_id)
  await disks.settledCaptures()
})

test('a full disk is reported as the reason', async (t) => {
  const full = await startTestServer(t)
  const at = onDisksOf(full)
  const { id: machine_id } = await full.machine()
  full.engine.controls.setFreeBytes(0)
  const { body: asked } = await full.call('POST', '/v1/snapshots', { machine_id })
  const { error } = await at.snapshotIn(asked.id, 'error')
  assert.match(error, /disk of this server is full: delete snapshots or machines/)
  full.engine.controls.setFreeBytes(2 ** 40)
  assert.equal((await at.snapshot(machine_id)).state, 'ready')
})

test('the capture of a machine without its disk fails, and its deletion goes ahead', async () => {
  const { id: machine_id } = await server.machine()
  const hold = controls.hangNext('capture')
  const { body: asked } = await call('POST', '/v1/snapshots', { machine_id })
  await hold.reached
  await call('DELETE', `/v1/machines/${machine_id}`)
  controls.lose(ref(machine_id))
  hold.release()
  assert.equal((await disks.snapshotIn(asked.id, 'error')).error, "the machine's disk is gone")
  await gone(server, machine_id)
})

test('a capture waits for an engine that does not respond, and is not abandoned', async () => {
  const { id: machine_id } = await server.machine()
  controls.failNext('inspect', { times: 10 })
  controls.failNext('capture', { times: 12 })
  const before = controls.calls('capture')
  const { body: asked } = await call('POST', '/v1/snapshots', { machine_id })
  await eventually(async () => controls.calls('capture') >= before + 5 || undefined)
  assert.equal((await call('GET', `/v1/snapshots/${asked.id}`)).body.state, 'pending')
  await disks.snapshotIn(asked.id, 'error')
})

test('a capture without references is removed, however often its removal fails', async () => {
  const { id } = await server.machine()
  const snapshot = await disks.snapshot(id)
  controls.failNext('removeCapture', { times: 5, retryable: false })
  await call('DELETE', `/v1/snapshots/${snapshot.id}`)
  await disks.goneFrom(`/v1/snapshots/${snapshot.id}`)
  await disks.settledCaptures()
})

test('a capture without a row is removed from the engine, but not while it may be new', async () => {
  const { id } = await server.machine()
  await disks.snapshot(id)
  const known = await disks.settledCaptures()
  await driver.capture(ref(id), newId('cap'))
  await reconcileAll(app)
  assert.equal((await driver.listCaptures()).length, known + 1)
  await reconcileAll(app, Date.now() + 11 * 60_000)
  assert.equal((await driver.listCaptures()).length, known)
  assert.equal(await disks.settledCaptures(), known)
})

test('a machine that was left frozen is thawed, unless it is being captured', async () => {
  const { id } = await server.machine()
  await eventually(async () => (await disks.row(id)).ready_at ?? undefined)
  controls.freeze(ref(id))
  const hold = controls.hangNext('capture')
  const { body: asked } = await call('POST', '/v1/snapshots', { machine_id: id })
  await hold.reached
  await reconcileAll(app)
  assert.equal(await isFrozen(id), true)
  hold.release()
  await disks.snapshotIn(asked.id, 'ready')
  controls.freeze(ref(id))
  await eventually(async () => {
    await reconcileAll(app)
    return !(await isFrozen(id)) || undefined
  })
})

test('a capture whose worker dies is made by the next worker', async (t) => {
  for (const afterEffect of [false, true]) {
    const mortal = await startTestServer(t, { worker: false })
    const at = onDisksOf(mortal)
    const worker = mortal.startWorker()
    const { id: machine_id } = await mortal.machine()
    await at.mark(machine_id, 'kept')
    const hold = mortal.engine.controls.hangNext('capture', { afterEffect })
    const { body: asked } = await mortal.call('POST', '/v1/snapshots', { machine_id })
    await hold.reached
    void worker.stop()
    await sql`update machines set claimed_until = now() - interval '1 second'`.execute(
      mortal.app.db,
    )
    if (!afterEffect) {
      const [capture] = await mortal.app.db.selectFrom('captures').select('id').execute()
      mortal.engine.controls.breakCapture(ref(machine_id), capture!.id)
    }
    mortal.startWorker()
    await at.snapshotIn(asked.id, 'ready')
    hold.release()
    await at.mark(machine_id, 'it is awake')
    assert.deepEqual(await at.events(machine_id, /^snapshot/), [
      'snapshot.started',
      'snapshot.completed',
    ])
    assert.equal(await at.settledCaptures(), 1)
  }
})

test('while the pool is full nothing new is started, and deletions work', async (t) => {
  const full = await startTestServer(t, { worker: false })
  const at = onDisksOf(full)
  const worker = full.startWorker()
  const { id } = await full.machine()
  const snapshot = await at.snapshot(id)
  await worker.stop()
  full.engine.controls.setFreeBytes(2 ** 30)
  full.startWorker()
  await eventually(async () => {
    const pool = await full.app.db.selectFrom('hosts').selectAll().executeTakeFirst()
    return pool?.free_bytes === 2 ** 30 || undefined
  })
  for (const [path, body] of [
    ['/v1/machines', {}],
    ['/v1/snapshots', { machine_id: id }],
    ['/v1/templates', { name: 'full', machine_id: id }],
    [`/v1/machines/${id}/fork`, {}],
    [`/v1/machines/${id}/restore`, { snapshot_id: snapshot.id }],
  ] as const) {
    const answer = await full.call('POST', path, body)
    assertRefused(answer, 'compute_unavailable', /full: delete snapshots or machines/)
    assert.equal(answer.headers['retry-after'], '10', path)
  }
  assert.equal((await full.call('DELETE', `/v1/snapshots/${snapshot.id}`)).status, 202)
  await at.goneFrom(`/v1/snapshots/${snapshot.id}`)
  await full.call('DELETE', `/v1/machines/${id}`)
  await gone(full, id)
})

test('failed captures at stops keep the last good snapshot and the last failed one', async () => {
  const { id } = await server.machine()
  const origins = async () => {
    await disks.settledCaptures()
    const { body } = await call('GET', `/v1/snapshots?machine_id=${id}&origin=stop`)
    return body.data.map((one: { state: string }) => one.state)
  }
  await disks.move(id, 'stop')
  assert.deepEqual(await origins(), ['ready'])
  for (const _ of [1, 2]) {
    await disks.move(id, 'start')
    controls.failNext('capture', { retryable: false })
    await disks.move(id, 'stop')
    assert.deepEqual(await origins(), ['error', 'ready'])
  }
  await disks.move(id, 'start')
  await disks.move(id, 'stop')
  assert.deepEqual(await origins(), ['ready'])
  await settled(server, id, 'stopped')
})

test('the meters match the rows', async () => {
  await disks.settledCaptures()
  await checkMeters(db)
})

function ref(id: string) {
  return { id: id as `mch_${string}`, generation: 1 }
}

async function isFrozen(id: string): Promise<boolean> {
  const instances = await driver.list()
  return instances.find((instance) => instance.ref.id === id)!.isFrozen
}
