import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { onDisksOf } from './disks.ts'
import { startTestServer } from './harness.ts'
import { bothReady, createOn, hostOf, onlyOn, runIn } from './hosts.ts'
import { eventually, gone } from './settled.ts'

/* Disks that are needed on a host that has no copy of them. */

const other = 'host-2'
const server = await startTestServer({ after }, { otherHosts: [other], plan: 'startup' })
const { call } = server
const { db } = server.app
const disks = onDisksOf(server)
await bothReady(server)

test('a fork of a machine whose host is full is made on another host, from a copy', async () => {
  const id = await createOn(server, 'local')
  await run(id, 'echo kept > mark')
  const fork = await onlyOn(server, other, () => call('POST', `/v1/machines/${id}/fork`, {}))
  assert.equal(fork.status, 201)
  await disks.machineIn(fork.body.id, 'running')
  assert.equal(await hostOf(server, fork.body.id), other)
  assert.equal(await run(fork.body.id, 'cat mark'), 'kept\n')
  // Nothing names the capture any more, so both copies go.
  await eventually(async () => (await copies()).length === 0 || undefined)
  for (const host of ['local', other]) assert.deepEqual(await driverOf(host).listCaptures(), [])
  for (const made of [id, fork.body.id]) await remove(made)
})

test('machines of a template are made on every host, and its second copy is made once', async () => {
  const id = await createOn(server, 'local')
  await run(id, 'echo kept > mark')
  const snapshot = await disks.snapshot(id)
  const { body: template } = await call('POST', '/v1/templates', {
    name: 'everywhere',
    snapshot_id: snapshot.id,
  })
  const made = await onlyOn(server, other, () =>
    Promise.all([1, 2].map(() => call('POST', '/v1/machines', { template: template.id }))),
  )
  for (const { body } of made) {
    await disks.machineIn(body.id, 'running')
    assert.equal(await run(body.id, 'cat mark'), 'kept\n')
  }
  assert.equal(server.engineOf(other).controls.calls('receiveCapture'), 2)
  assert.deepEqual((await copies()).map(({ host, state }) => [host, state]).sort(), [
    [other, 'ready'],
    ['local', 'ready'],
  ])
  for (const { body } of made) await remove(body.id)
  await remove(id)
  await call('DELETE', `/v1/templates/${template.id}`)
  await call('DELETE', `/v1/snapshots/${snapshot.id}`)
  await eventually(async () => (await copies()).length === 0 || undefined)
})

test('a copy waits while no host that has the capture answers', async () => {
  const id = await createOn(server, 'local')
  const snapshot = await disks.snapshot(id)
  const fork = () => call('POST', `/v1/machines/${id}/fork`, { snapshot_id: snapshot.id })
  const { controls } = server.engine
  controls.failNext('sendCapture', { times: 1_000_000 })
  const { status, body } = await onlyOn(server, other, fork)
  assert.equal(status, 201, JSON.stringify(body))
  controls.failNext('ping', { times: 1_000_000, ofEngine: true })
  await eventually(async () => {
    const local = db.selectFrom('hosts').select('unhealthy_reason').where('name', '=', 'local')
    return (await local.executeTakeFirstOrThrow()).unhealthy_reason ?? undefined
  })
  // A try that found the host healthy may still get its copy there, so such a one ends first.
  await triedAgain()
  controls.recover('sendCapture')
  await triedAgain()
  assert.equal((await call('GET', `/v1/machines/${body.id}`)).body.state, 'creating')
  // Nobody can say when it would run.
  const { body: refused } = await fork()
  assert.equal(refused.error.code, 'compute_unavailable')
  controls.recover('ping')
  await disks.machineIn(body.id, 'running')
  for (const made of [id, body.id]) await remove(made)
  await call('DELETE', `/v1/snapshots/${snapshot.id}`)
})

test('a machine whose copy cannot be made fails; what interrupts a copy does not', async () => {
  const id = await createOn(server, 'local')
  const { controls } = server.engineOf(other)
  controls.failNext('receiveCapture', { times: 2 })
  const late = await onlyOn(server, other, () => call('POST', `/v1/machines/${id}/fork`, {}))
  await disks.machineIn(late.body.id, 'running')
  controls.failNext('receiveCapture', { retryable: false })
  const never = await onlyOn(server, other, () => call('POST', `/v1/machines/${id}/fork`, {}))
  await disks.machineIn(never.body.id, 'error')
  for (const made of [id, late.body.id, never.body.id]) await remove(made)
})

test('a machine that is deleted while its copy is made leaves none', async () => {
  const id = await createOn(server, 'local')
  const { controls } = server.engineOf(other)
  const hold = controls.hangNext('receiveCapture')
  const fork = await onlyOn(server, other, () => call('POST', `/v1/machines/${id}/fork`, {}))
  await hold.reached
  await remove(fork.body.id)
  await eventually(async () => (await copies()).length === 0 || undefined)
  hold.release()
  await eventually(async () => controls.calls('removeCapture') > 0 || undefined)
  await eventually(async () => (await driverOf(other).listCaptures()).length === 0 || undefined)
  await remove(id)
})

function driverOf(host: string) {
  return host === other ? server.engineOf(other).driver() : server.engine.driver()
}

async function copies() {
  return db.selectFrom('capture_copies').selectAll().execute()
}

/** Resolves after a try of a copy that was begun after the call. */
async function triedAgain(): Promise<void> {
  const triesOf = async () => Math.max(...(await copies()).map(({ attempts }) => attempts))
  const tries = await triesOf()
  await eventually(async () => (await triesOf()) > tries + 1 || undefined)
}

const run = (id: string, command: string) => runIn(server, id, command)

async function remove(id: string): Promise<void> {
  await call('DELETE', `/v1/machines/${id}`)
  await gone(server, id)
}
