import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { eventually } from '../../server/test/settled.ts'
import { createNetwork } from './network.ts'
import { startServer } from './server.ts'

const server = await startServer({ after })

for (const [how, options] of [
  ['by events', {}],
  ['by polling', { WebSocket: null }],
] as const) {
  test(`captures, forks and restores are waited for ${how}`, async () => {
    const computer = server.connect(options)
    const machine = await computer.machines.create()
    await machine.files.write('plan.txt', 'the good plan')

    const capture = server.engine.controls.hangNext('capture')
    const taking = machine.snapshots.create({ name: 'before' })
    await capture.reached
    const [pending] = await machine.snapshots.list().all()
    assert.equal(pending?.state, 'pending')
    capture.release()
    const snapshot = await taking
    assert.deepEqual([snapshot.state, snapshot.name], ['ready', 'before'])

    await machine.files.write('plan.txt', 'a bad plan')
    await machine.restore(snapshot.id)
    assert.equal(machine.state, 'running')
    assert.equal(await machine.files.readText('plan.txt'), 'the good plan')

    const fork = await machine.fork({ name: `fork-${how.replace(' ', '-')}` })
    assert.equal(fork.state, 'running')
    assert.equal(await fork.files.readText('plan.txt'), 'the good plan')

    const template = await computer.templates.create({ name: `of ${how}`, machineId: machine.id })
    assert.equal(template.state, 'ready')
    const other = await computer.machines.create({ template: template.id })
    assert.equal(await other.files.readText('plan.txt'), 'the good plan')

    await machine.stop()
    await machine.restore(snapshot.id)
    assert.equal(machine.state, 'stopped')
    await computer.templates.delete(template.id)
  })
}

test('waiting for a snapshot that fails is an error with the reason', async () => {
  const machine = await server.connect().machines.create()
  server.engine.controls.failNext('capture', { retryable: false })
  await assert.rejects(machine.snapshots.create(), { code: 'operation_failed' })
})

test('wait: false returns before the operation completes', async () => {
  const machine = await server.connect().machines.create()
  const capture = server.engine.controls.hangNext('capture')
  const snapshot = await machine.snapshots.create({ wait: false })
  assert.equal(snapshot.state, 'pending')
  capture.release()
})

test('waiting ends with its timeout or its signal', async (t) => {
  const network = createNetwork()
  const machine = await server.connect({ fetch: network.fetch }).machines.create()
  const capture = server.engine.controls.hangNext('capture')
  t.after(() => capture.release())
  await assert.rejects(machine.snapshots.create({ timeoutMs: 1 }), { code: 'timed_out' })
  const ending = new AbortController()
  const waiting = machine.snapshots.create({ signal: ending.signal })
  await eventually(async () => network.count('GET /v1/snapshots/') > 3 || undefined)
  ending.abort(new Error('enough'))
  await assert.rejects(waiting, /enough/)
})

test('a time limit covers the request of a call as well as its wait', async () => {
  const network = createNetwork()
  const computer = server.connect({ fetch: network.fetch })
  const creation = server.engine.controls.hangNext('create')
  const limited = { name: 'limited', timeoutMs: 50 }
  await assert.rejects(computer.machines.create(limited), {
    code: 'timed_out',
    message: /the creation of limited took longer than 50 ms/,
  })
  const [request] = network.sent
  assert.deepEqual([request?.what, request?.status], ['POST /v1/machines', null])
  creation.release()
  const machine = await computer.machines.create()
  const stop = server.engine.controls.hangNext('stop')
  await assert.rejects(machine.stop({ timeoutMs: 50 }), { code: 'timed_out' })
  stop.release()
  assert.equal((await machine.stop({ timeoutMs: Infinity })).state, 'stopped')
})
