import type { MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { reconcileAll } from '../src/worker/reconcile.ts'
import { machineSpec } from './fake-machine.ts'
import { startTestServer, type TestServer } from './harness.ts'
import { eventually, gone, settled } from './settled.ts'

const server = await startTestServer({ after })
const { controls } = server.engine

test('temporary failures are retried', async () => {
  controls.failNext('create', { times: 2 })
  controls.failNext('start', { times: 2, afterEffect: true })
  const { id, state } = await server.machine()
  assert.equal(state, 'running')
  assert.deepEqual(await eventsOf(server, id, /created|started|failed/), [
    'machine.created',
    'machine.started',
  ])
  controls.failNext('stop', { times: 2 })
  const stopped = await server.call('POST', `/v1/machines/${id}/stop?wait=20`)
  assert.equal(stopped.body.state, 'stopped')
  controls.failNext('destroy', { times: 8, retryable: false })
  await server.call('DELETE', `/v1/machines/${id}`)
  await gone(server, id)
  assert.equal(await instancesOf(server, id), 0)
})

test('a permanent failure ends in error with the disk kept, and start tries again', async () => {
  controls.failNext('create', { retryable: false })
  const { id, state } = await server.machine()
  assert.equal(state, 'error')
  assert.equal(await instancesOf(server, id), 0)
  const [failed] = await eventsOf(server, id, /failed/, 'message')
  assert.equal(failed, 'the machine could not be created')
  for (const path of ['stop', 'restart']) {
    const refused = await server.call('POST', `/v1/machines/${id}/${path}`)
    assert.equal(refused.status, 409)
    assert.match(refused.body.error.message, /from error to stopping/)
  }

  const started = await server.call('POST', `/v1/machines/${id}/start?wait=20`)
  assert.equal(started.body.state, 'running')
  server.guest(id).disk.write('kept', 'yes')
  await server.call('POST', `/v1/machines/${id}/stop?wait=20`)
  controls.failNext('start', { retryable: false })
  const broken = await server.call('POST', `/v1/machines/${id}/start?wait=20`)
  assert.equal(broken.body.state, 'error')
  await server.call('POST', `/v1/machines/${id}/start?wait=20`)
  assert.equal(server.guest(id).disk.read('kept')?.toString(), 'yes')
})

test('guests that are silent while they boot keep no other machine waiting', async () => {
  const create = () => server.machine({ start: false })
  const silent = await Promise.all(Array.from({ length: 12 }, create))
  const hold = controls.holdBoot(silent.length)
  const earlier = controls.calls('start')
  for (const { id } of silent) await server.call('POST', `/v1/machines/${id}/start`)
  await eventually(async () => controls.calls('start') >= earlier + silent.length || undefined)
  const { state } = await server.machine()
  assert.equal(state, 'running')
  hold.release()
  for (const { id } of silent) await settled(server, id, 'running')
})

test('a machine in error can be deleted', async () => {
  controls.failNext('create', { retryable: false })
  const { id } = await server.machine()
  await server.call('DELETE', `/v1/machines/${id}`)
  await gone(server, id)
})

test('a step that always fails is abandoned', async () => {
  controls.failNext('start', { times: 6 })
  const { id, state } = await server.machine()
  assert.equal(state, 'error')
  assert.equal(await instancesOf(server, id), 1)
})

test('a machine waits for an engine that is down, and is not abandoned', async () => {
  controls.failNext('start', { times: 20, ofEngine: true })
  const { id, state } = await server.machine()
  assert.equal(state, 'running')
  assert.equal(await instancesOf(server, id), 1)
})

test('a stop that always fails leaves the machine running, in the same run', async () => {
  const { id } = await server.machine()
  await ready(server, id)
  const before = await server.call('GET', `/v1/machines/${id}`)
  controls.failNext('stop', { times: 6 })
  const answer = await server.call('POST', `/v1/machines/${id}/stop?wait=20`)
  assert.deepEqual([answer.status, answer.body], [202, before.body])
  const [last] = await eventsOf(server, id, /updated/, 'message')
  assert.equal(last, 'the machine could not be stopped and runs on')
  assert.equal((await eventsOf(server, id, /started|ready/)).length, 2)
  const row = await server.app.db
    .selectFrom('machines')
    .select('wanted')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  assert.equal(row.wanted, 'running')
  assert.equal((await server.call('POST', `/v1/machines/${id}/stop?wait=20`)).body.state, 'stopped')
})

test('a guest that powers itself off is stopped, one that dies is in error with the reason', async () => {
  const { id } = await server.machine()
  controls.powerOff(ref(id))
  await settled(server, id, 'stopped')
  await server.call('POST', `/v1/machines/${id}/start?wait=20`)
  controls.die(ref(id), 'out of memory')
  await settled(server, id, 'error')
  const [message] = await eventsOf(server, id, /failed/, 'message')
  assert.match(message!, /out of memory/)
  const again = await server.call('POST', `/v1/machines/${id}/start?wait=20`)
  assert.equal(again.body.state, 'running')
})

test('a guest that is between the two runs of a reboot stays running', async () => {
  const { id } = await server.machine()
  await ready(server, id)
  controls.beginReboot(ref(id))
  await pause(server.app.timing.rebootTimeoutMs / 5)
  await server.app.driver.start(ref(id))
  const { body } = await server.call('POST', `/v1/machines/${id}/exec`, { command: ['true'] })
  assert.equal(body.exit_code, 0, JSON.stringify(body))
  await reconcileAll(server.app)
  assert.equal((await server.call('GET', `/v1/machines/${id}`)).body.state, 'running')
  assert.deepEqual(await eventsOf(server, id, /stopped|failed/), [])

  controls.beginReboot(ref(id))
  await settled(server, id, 'error')
  const [message] = await eventsOf(server, id, /failed/, 'message')
  assert.match(message!, /did not come back from a reboot/)
})

test('a guest that reboots itself stays running, and every start is ready once', async () => {
  const { id } = await server.machine()
  await ready(server, id)
  for (const command of [
    ['echo', 'once'],
    ['echo', 'again'],
  ] as const) {
    controls.reboot(ref(id))
    const { body } = await server.call('POST', `/v1/machines/${id}/exec`, { command })
    assert.equal(body.stdout, `${command[1]}\n`)
  }
  assert.equal((await server.call('GET', `/v1/machines/${id}`)).body.state, 'running')
  await server.call('POST', `/v1/machines/${id}/restart?wait=20`)
  await eventually(async () => {
    const events = await eventsOf(server, id, /ready/)
    return events.length === 2 || undefined
  })
})

test('a running machine that the engine lost is in error', async () => {
  const { id } = await server.machine()
  controls.lose(ref(id))
  await settled(server, id, 'error')
  const [message] = await eventsOf(server, id, /failed/, 'message')
  assert.match(message!, /disk is gone/)
  await server.call('DELETE', `/v1/machines/${id}`)
  await gone(server, id)
})

test('changes in the engine that no worker saw are found by a full reconciliation', async (t) => {
  const still = await startTestServer(t)
  const { id } = await still.machine()
  const { id: stray } = await still.machine({ start: false })
  await still.stopWorkers()
  still.engine.controls.powerOff(ref(id))
  await still.app.driver.start(ref(stray))
  await reconcileAll(still.app)
  assert.equal((await still.call('GET', `/v1/machines/${id}`)).body.state, 'stopped')
  assert.equal(await still.app.driver.inspect(ref(stray)), 'stopped')
})

test('an instance without a row is removed, but not while it may be new', async () => {
  const { id } = await server.machine({ start: false })
  const orphan = { ...machineSpec(999_999), imageId: server.imageId }
  await server.app.driver.create(orphan)
  await reconcileAll(server.app)
  assert.equal(await instancesOf(server, orphan.id), 1)
  await reconcileAll(server.app, Date.now() + 11 * 60_000)
  assert.equal(await instancesOf(server, orphan.id), 0)
  assert.equal(await instancesOf(server, id), 1)
})

test('a machine can be deleted and stopped by its guest while it starts', async () => {
  const hold = controls.holdBoot()
  const { id } = await server.machine({ start: false })
  const { id: other } = await server.machine({ start: false })
  for (const machine of [id, other]) await server.call('POST', `/v1/machines/${machine}/start`)
  await hold.reached
  const deleting = await server.call('DELETE', `/v1/machines/${id}`)
  assert.equal(deleting.body.state, 'deleting')
  await gone(server, id)
  assert.equal(await instancesOf(server, id), 0)
  await eventually(
    async () => (await server.app.driver.inspect(ref(other))) === 'running' || undefined,
  )
  controls.powerOff(ref(other))
  hold.release()
  await settled(server, other, 'running')
})

test('a machine whose image is still being unpacked waits for it', async (t) => {
  const early = await startTestServer(t, { worker: false })
  const hold = early.engine.controls.hangNext('addImage')
  const creating = early.call('POST', '/v1/machines', {})
  early.startWorker()
  await hold.reached
  await eventually(async () => early.engine.controls.calls('create') > 1 || undefined)
  const list = await early.call('GET', '/v1/machines')
  assert.equal(list.body.data[0].state, 'creating')
  hold.release()
  assert.equal((await creating).body.state, 'running')
})

test('of many concurrent calls one wins each transition, and each conflict names two states', async () => {
  const { id } = await server.machine({ start: false })
  for (let round = 0; round < 4; round++) {
    const paths = ['start', 'stop', 'restart', 'start', 'stop', 'start', 'restart', 'stop']
    const answers = await Promise.all(
      paths.map((path) => server.call('POST', `/v1/machines/${id}/${path}?wait=20`)),
    )
    for (const { status, body } of answers) {
      if (status === 202) continue
      assert.equal(status, 409)
      assert.match(body.error.message, /(\b(stopped|starting|running|stopping)\b.*){2}/)
    }
  }
  assert.equal(await instancesOf(server, id), 1)
  const moves = await eventsOf(server, id, /./, 'move')
  const states = moves.toReversed().filter((move) => move.includes('>'))
  for (const [index, move] of states.slice(1).entries()) {
    assert.equal(move.split('>')[0], states[index]!.split('>')[1], states.join(' '))
  }
})

function ref(id: string) {
  return { id: id as MachineId, generation: 1 }
}

async function ready(on: TestServer, id: string): Promise<void> {
  await eventually(async () => (await eventsOf(on, id, /ready/)).length > 0 || undefined)
}

async function instancesOf(on: TestServer, id: string): Promise<number> {
  return (await on.app.driver.list()).filter((instance) => instance.ref.id === id).length
}

/** Types oldest first, other properties newest first. */
async function eventsOf(
  on: TestServer,
  id: string,
  type: RegExp,
  show: 'type' | 'message' | 'move' = 'type',
): Promise<string[]> {
  const { body } = await on.call('GET', `/v1/machines/${id}/events?limit=100`)
  const events = body.data.filter((event: { type: string }) => type.test(event.type))
  if (show === 'message') return events.map((event: { message: string }) => event.message)
  if (show === 'type') return events.map((event: { type: string }) => event.type).toReversed()
  return events.map(({ from_state, to_state }: Record<string, string>) =>
    to_state ? `${from_state}>${to_state}` : '',
  )
}
