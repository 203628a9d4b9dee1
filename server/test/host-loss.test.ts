import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bothReady, hostOf, setHost } from './hosts.ts'
import { eventually } from './settled.ts'
import { other, refOf, startTwoHosts } from './two-hosts.ts'

/* One of two hosts falls silent, or is restarted. */

const away = 'the host of the machine does not answer'

test('what ran on a host that falls silent is in error, and goes on once the host is back', async (t) => {
  const { server, call, disks, createOn, run, silence } = await startTwoHosts(t)
  const id = await createOn(other)
  const apart = await createOn('local')
  await run(id, 'echo kept > mark')
  const back = await silence()
  await disks.machineIn(id, 'error')
  assert.equal((await call('GET', `/v1/machines/${apart}`)).body.state, 'running')
  for (const [method, path, body] of [
    ['POST', `/v1/machines/${id}/start`],
    ['POST', `/v1/machines/${id}/exec`, { command: ['true'] }],
    ['POST', `/v1/machines/${id}/fork`, {}],
    ['POST', '/v1/snapshots', { machine_id: id }],
    ['GET', `/v1/machines/${id}/screenshot`],
  ] as const) {
    const answer = await call(method, path, body)
    const { code, message } = answer.body.error
    assert.deepEqual([path, answer.status, code], [path, 503, 'compute_unavailable'])
    assert.match(message, /^the host of the machine does not answer/)
    assert.ok(Number(answer.headers['retry-after']) > 0, path)
  }

  await back()
  await disks.machineIn(id, 'running')
  assert.equal(await run(id, 'cat mark'), 'kept\n')
  const messages = (await disks.events(id, /machine|host/, 'message')).filter(Boolean)
  assert.deepEqual(messages, ['the host does not answer', away, 'the host of the machine is back'])
  assert.equal((await server.engineOf(other).driver().list()).length, 1)
})

test('a machine that was shut down while its host was silent stays down', async (t) => {
  const { server, disks, createOn, silence } = await startTwoHosts(t)
  const [down, cut] = [await createOn(other), await createOn(other)]
  const back = await silence()
  const { controls } = server.engineOf(other)
  controls.powerOff(refOf(down))
  controls.die(refOf(cut))
  for (const id of [down, cut]) await disks.machineIn(id, 'error')
  await back()
  await disks.machineIn(down, 'stopped')
  await disks.machineIn(cut, 'running')
})

test('a machine that has no disk yet is made on another host', async (t) => {
  const { server, call, disks, silence } = await startTwoHosts(t)
  const hold = server.engineOf(other).controls.hangNext('create')
  await setHost(server, 'local', { state: 'drained' })
  const creating = call('POST', '/v1/machines', {})
  await hold.reached
  await setHost(server, 'local', { state: 'ready' })
  const back = await silence()
  const { body } = await creating
  await disks.machineIn(body.id, 'running')
  assert.equal(await hostOf(server, body.id), 'local')
  hold.release()
  await back()
  await disks.machineIn(body.id, 'running')
  assert.equal(await hostOf(server, body.id), 'local')
  const isLeft = async () => (await server.engineOf(other).driver().list()).length > 0
  await eventually(async () => !(await isLeft()) || undefined)
})

test('a machine whose host has an engine that does not answer is made on another host', async (t) => {
  const { server, call, disks, createOn } = await startTwoHosts(t)
  const { controls } = server.engineOf(other)
  const apart = await createOn(other)
  const hold = controls.hangNext('create')
  await setHost(server, 'local', { state: 'drained' })
  const creating = call('POST', '/v1/machines', {})
  await hold.reached
  await setHost(server, 'local', { state: 'ready' })
  controls.failNext('ping', { times: 1_000_000, ofEngine: true })
  const { body } = await creating
  await disks.machineIn(body.id, 'running')
  assert.equal(await hostOf(server, body.id), 'local')
  hold.release()
  controls.recover('ping')
  await bothReady(server)
  assert.equal(await hostOf(server, body.id), 'local')
  for (const id of [body.id, apart]) await disks.machineIn(id, 'running')
})

test('what is made from a disk of a silent host is refused, and waits if it was accepted before', async (t) => {
  const { server, call, disks, createOn, silence } = await startTwoHosts(t)
  const id = await createOn(other)
  const snapshot = await disks.snapshot(id)
  const fork = { snapshot_id: snapshot.id }
  const hold = server.engineOf(other).controls.hangNext('create')
  const { body: waiting } = await call('POST', `/v1/machines/${id}/fork`, fork)
  await hold.reached
  const back = await silence()
  await disks.machineIn(id, 'error')
  const refused = await call('POST', `/v1/machines/${id}/fork`, fork)
  assert.deepEqual([refused.status, refused.body.error.code], [503, 'compute_unavailable'])
  assert.match(refused.body.error.message, /^no host that has the disk of this machine answers/)
  hold.release()
  await back()
  for (const machine of [id, waiting.id]) await disks.machineIn(machine, 'running')
})

test('what ran on a host that is restarted starts again', async (t) => {
  const { server, disks, createOn, run, silence } = await startTwoHosts(t, {
    hostSilenceMs: 1_000_000,
  })
  const id = await createOn(other)
  await run(id, 'echo kept > mark')
  const back = await silence()
  server.engineOf(other).controls.die(refOf(id), 'the host went down')
  await setHost(server, other, { boot_id: 'the boot before' })
  await back()
  const messages = await eventually(async () => {
    const all = (await disks.events(id, /machine/, 'message')).filter(Boolean)
    return all.length === 2 ? all : undefined
  })
  await disks.machineIn(id, 'running')
  assert.equal(await run(id, 'cat mark'), 'kept\n')
  assert.deepEqual(messages, [
    'the host of the machine was restarted',
    'the host of the machine is back',
  ])
})
