import type { MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setWarm } from '../src/domain/operator/templates.ts'
import { listWarm } from '../src/domain/machines/warm-machines.ts'
import { reconcileAll } from '../src/worker/reconcile.ts'
import { warmChecks } from '../src/host/doctor/warm.ts'
import { onDisksOf } from './disks.ts'
import { startTestServer, type TestServer } from './harness.ts'
import { eventually } from './settled.ts'
import { create, isFrozen, startWithPool, untilReady } from './warm-pool.ts'

/* Warm machines that fail, while they wait or as they are taken. */

for (const [fault, break_] of [
  ['refuses to wake', ({ engine }) => engine.controls.failNext('wake', { retryable: true })],
  ['is gone', ({ engine }, ref) => engine.controls.lose(ref)],
  ['went down', ({ engine }, ref) => engine.controls.powerOff(ref)],
  [
    'does not answer',
    ({ engine }, ref) =>
      engine.controls.replaceAgent(ref, async () => {
        throw new Error('nobody is there')
      }),
  ],
] as [string, (server: TestServer, ref: { id: MachineId; generation: number }) => void][]) {
  test(`a create succeeds although the machine that it took ${fault}`, async (t) => {
    const { server, warm } = await startWithPool(t)
    // No worker notices the fault before the create does.
    await server.stopWorkers()
    break_(server, { id: warm, generation: 1 })
    const asked = create(server, { size: 'standard' })
    await eventually(async () => (await listWarm(server.app.db)).length === 0 || undefined)
    server.startWorker()
    const machine = await asked
    assert.deepEqual([machine.id, machine.state], [warm, 'running'])
    const instance = (await server.app.driver.list()).find(({ ref }) => ref.id === warm)
    assert.deepEqual([instance?.state, instance?.isFrozen], ['running', false])
    const ran = await server.call('POST', `/v1/machines/${warm}/exec`, { command: ['echo', 'hi'] })
    assert.equal(ran.body.stdout, 'hi\n')
  })
}

test('a machine of a template that could not be woken is made from the template again', async (t) => {
  const { server } = await startWithPool(t)
  const disks = onDisksOf(server)
  const source = await create(server)
  await disks.mark(source.id, 'installed')
  const input = { name: 'Tools', machine_id: source.id }
  const { body: template } = await server.call('POST', '/v1/templates', input)
  await disks.templateIn(template.id, 'ready')
  await setWarm(server.app.db, template.id, 1)
  await untilReady(server, 2)
  server.engine.controls.failNext('wake', { retryable: true })
  const machine = await create(server, { template: template.id })
  assert.equal(server.engine.controls.calls('wake'), 2)
  assert.equal(await disks.readMark(machine.id), 'installed')
})

test('a machine that goes down, or wakes by itself while it waits, becomes ready again', async (t) => {
  const { server, warm } = await startWithPool(t)
  const ref = { id: warm, generation: 1 }
  for (const disturb of [
    async () => server.engine.controls.powerOff(ref),
    () => server.app.driver.thaw(ref),
    async () => server.engine.controls.lose(ref),
  ]) {
    await disturb()
    await reconcileAll(server.app, Date.now() + 3_600_000)
    await untilReady(server, 1)
    assert.equal(await isFrozen(server, warm), true)
  }
  assert.equal((await create(server)).id, warm)
})

test('a reconciliation of everything leaves machines that wait alone', async (t) => {
  const { server, warm } = await startWithPool(t)
  await reconcileAll(server.app, Date.now() + 3_600_000)
  assert.equal(await isFrozen(server, warm), true)
  assert.equal((await create(server)).id, warm)
})

test('a machine that cannot be made is tried again in another generation, and the doctor tells', async (t) => {
  const server = await startTestServer(t, { env: { COMPUTER_WARM_MACHINES: '1' } })
  const { controls } = server.engine
  controls.failNext('freeze', { times: 4 })
  const ask = () => {
    const config = { ...server.app.config, databaseUrl: server.databaseUrl }
    return warmChecks[0]!.run({ read: async () => null, run: async () => null }, config)
  }
  const warned = await eventually(async () => {
    const finding = await ask()
    return finding.status === 'warn' ? finding : undefined
  })
  assert.match(warned.message, /^0 of 1 ready; .*could not be made in 3 tries/)
  const [ready] = await untilReady(server, 1)
  assert.match((await ask()).message, /^1 of 1 ready \(.* of the 0 machines/)
  assert.deepEqual(
    (await server.app.driver.list()).map(({ ref, isFrozen }) => ({ ...ref, isFrozen })),
    [{ id: ready, generation: 5, isFrozen: true }],
  )
  const machine = await create(server)
  assert.equal(machine.id, ready)
  const disks = onDisksOf(server)
  await disks.mark(machine.id, 'before')
  const snapshot = await disks.snapshot(machine.id)
  await disks.mark(machine.id, 'after')
  const restored = await disks.restore(machine.id, snapshot.id, '?wait=10')
  assert.equal(restored.body.state, 'running', JSON.stringify(restored.body))
  assert.equal(await disks.readMark(machine.id), 'before')
  assert.match((await ask()).message, /of the 1 machines .* 1 were warm/)
})
