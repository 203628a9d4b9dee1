import type { MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMachine } from '../src/domain/machines/creation.ts'
import { registerImage } from '../src/domain/disks/images.ts'
import { listWarm } from '../src/domain/warm-machines/warm-machines.ts'
import { newId } from '../src/ids.ts'
import { reconcileAll } from '../src/worker/reconcile.ts'
import { runWorker } from '../src/worker/loop.ts'
import { startTestServer, type Lifetime, type TestServer } from './harness.ts'
import { loseAnswers } from './one-key.ts'
import { eventually, gone, settled } from './settled.ts'

/* The pool of machines that are made in advance (COMPUTER_WARM_MACHINES). */

test('a create takes the machine that waits, under its own name, size and metadata', async (t) => {
  const { server, warm } = await startWithPool(t)
  assert.equal(await isFrozen(server, warm), true)
  const starts = server.engine.controls.calls('start')
  const machine = await create(server, {
    name: 'taken',
    size: 'standard',
    metadata: { team: 'shop' },
  })
  assert.equal(machine.id, warm)
  assert.equal(server.engine.controls.calls('start'), starts)
  assert.deepEqual(
    [machine.state, machine.name, machine.size, machine.cpu, machine.disk_gb, machine.metadata],
    ['running', 'taken', 'standard', 4, 25, { team: 'shop' }],
  )
  assert.equal(await isFrozen(server, warm), false)
  const ran = await server.call('POST', `/v1/machines/${warm}/exec`, { command: ['echo', 'hi'] })
  assert.equal(ran.body.stdout, 'hi\n')
})

test('the pool fills again, and every create gets a machine of its own', async (t) => {
  const { server } = await startWithPool(t, 2)
  const first = await Promise.all([1, 2, 3, 4, 5].map(() => create(server)))
  await untilReady(server, 2)
  const second = await Promise.all([1, 2].map(() => create(server)))
  const ids = [...first, ...second].map(({ id }) => id)
  assert.equal(new Set(ids).size, 7)
  const slots = await server.app.db.selectFrom('machines').select('uid_slot').execute()
  assert.equal(new Set(slots.map(({ uid_slot }) => uid_slot)).size, 7)
})

test('a machine that waits is in no list, log, meter or limit', async (t) => {
  const { server, warm } = await startWithPool(t)
  assert.deepEqual((await server.call('GET', '/v1/machines')).body.data, [])
  assert.equal((await server.call('GET', `/v1/machines/${warm}`)).status, 404)
  assert.equal((await server.call('DELETE', `/v1/machines/${warm}`)).status, 404)
  for (const table of ['machines', 'machine_events', 'meter_intervals'] as const) {
    assert.deepEqual(await server.app.db.selectFrom(table).selectAll().execute(), [])
  }
  const { created_at: createdAt } = await create(server)
  const { body } = await server.call('GET', `/v1/machines/${warm}/events`)
  const events = body.data as { type: string; occurred_at: string }[]
  const types = events.map(({ type }) => type).toReversed()
  assert.deepEqual(types.slice(0, 2), ['machine.created', 'machine.started'])
  const [interval] = await server.app.db.selectFrom('meter_intervals').selectAll().execute()
  assert.ok(interval!.started_at >= new Date(createdAt))
})

test('a call that is repeated after its answer was lost finds the machine that it took', async (t) => {
  const { server, warm } = await startWithPool(t)
  const headers = { 'idempotency-key': 'one' }
  const ask = () => server.call('POST', '/v1/machines', { name: 'once' }, headers)
  const first = await ask()
  assert.equal(first.body.id, warm)
  await loseAnswers(server.app.db)
  const second = await ask()
  assert.deepEqual([second.status, second.body.id], [201, warm])
  assert.equal((await server.call('GET', '/v1/machines')).body.data.length, 1)
})

test('a list has a machine where its call belongs, however long it had waited', async (t) => {
  const { server, warm } = await startWithPool(t)
  const stopped = await create(server, { name: 'older', start: false })
  assert.notEqual(stopped.id, warm)
  await create(server, { name: 'newer' })
  const first = (await server.call('GET', '/v1/machines?limit=1')).body
  assert.deepEqual(
    first.data.map(({ name }: { name: string }) => name),
    ['newer'],
  )
  const { body } = await server.call('GET', `/v1/machines?limit=1&cursor=${first.next_cursor}`)
  assert.deepEqual([body.data[0].name, body.has_more], ['older', false])
})

test('forks and machines from templates are not taken from the pool', async (t) => {
  const { server, warm } = await startWithPool(t)
  const source = await create(server)
  assert.equal(source.id, warm)
  await untilReady(server, 1)
  const [next] = await listWarm(server.app.db)
  const fork = await server.call('POST', `/v1/machines/${source.id}/fork`, {})
  assert.equal(fork.status, 201, JSON.stringify(fork.body))
  await settled(server, fork.body.id, 'running')
  assert.notEqual(fork.body.id, next!.id)
})

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
    // Nobody notices before the create does.
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

test('a machine that goes down, or wakes by itself while it waits, becomes ready again', async (t) => {
  const { server, warm } = await startWithPool(t)
  const ref = { id: warm, generation: 1 }
  for (const disturb of [
    () => server.engine.controls.powerOff(ref),
    () => server.app.driver.thaw(ref),
    () => server.engine.controls.lose(ref),
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

test('machines that wait are thawed from time to time, and then wait again', async (t) => {
  const { server, warm } = await startWithPool(t, 1, { warmFreshMs: 100 })
  const before = server.engine.controls.calls('freeze')
  await eventually(async () => server.engine.controls.calls('freeze') > before + 2 || undefined)
  assert.deepEqual(
    (await listWarm(server.app.db)).map(({ id }) => id),
    [warm],
  )
})

test('a new image replaces the machines that wait', async (t) => {
  const { server, warm } = await startWithPool(t)
  const imageId = await registerImage(server.app.db, {
    recipeHash: 'newer',
    name: 'Newer',
    description: 'Another image.',
    metadataPath: '/nonexistent/metadata.tar',
    rootfsPath: '/nonexistent/rootfs.tar.zst',
  })
  await eventually(async () => {
    const [row, ...others] = await listWarm(server.app.db)
    return (row?.image_id === imageId && others.length === 0) || undefined
  })
  await untilReady(server, 1)
  await eventually(async () => (await isFrozen(server, warm)) === undefined || undefined)
})

test('a server without a pool removes what one with a pool has made', async (t) => {
  const { server } = await startWithPool(t, 2)
  await server.stopWorkers()
  const stopping = new AbortController()
  const app = { ...server.app, config: { ...server.app.config, warmMachines: 0 } }
  const working = runWorker(app, stopping.signal)
  await eventually(async () => (await app.driver.list()).length === 0 || undefined)
  await eventually(async () => (await listWarm(app.db)).length === 0 || undefined)
  stopping.abort()
  await working
})

test('a machine that was taken is deleted like any other, and its uids are free', async (t) => {
  const { server, warm } = await startWithPool(t)
  await create(server)
  await server.call('DELETE', `/v1/machines/${warm}`)
  await gone(server, warm)
  const owners = await server.app.db
    .selectFrom('uid_slots')
    .select('machine_id')
    .where('machine_id', '=', warm)
    .execute()
  assert.deepEqual(owners, [])
})

test('a create that the plan refuses takes nothing', async (t) => {
  const { server, warm } = await startWithPool(t)
  await server.call('POST', '/v1/machines', { name: 'one', start: false })
  const { status } = await server.call('POST', '/v1/machines', { name: 'one' })
  assert.equal(status, 409)
  assert.deepEqual(
    (await listWarm(server.app.db)).map(({ id, state }) => [id, state]),
    [[warm, 'ready']],
  )
})

test('one call that runs twice at once takes one machine', async (t) => {
  const { server } = await startWithPool(t, 2)
  const actor = await server.user('owner', 'same')
  const id = newId('mch')
  const input = { start: true, metadata: {} }
  const made = await Promise.all([1, 2].map(() => createMachine(server.app, actor, id, input)))
  assert.equal(made[0]!.id, made[1]!.id)
})

async function startWithPool(
  t: Lifetime,
  count = 1,
  timing: NonNullable<Parameters<typeof startTestServer>[1]>['timing'] = {},
) {
  const server = await startTestServer(t, {
    env: { COMPUTER_WARM_MACHINES: String(count) },
    plan: 'startup',
    timing,
  })
  const [first] = await untilReady(server, count)
  return { server, warm: first! }
}

/** The ids of machines that wait, once there are so many. */
async function untilReady({ app }: Pick<TestServer, 'app'>, count: number): Promise<MachineId[]> {
  return eventually(async () => {
    const ready = (await listWarm(app.db)).filter(({ state }) => state === 'ready')
    return ready.length === count ? ready.map(({ id }) => id) : undefined
  })
}

async function create(server: TestServer, input: Record<string, unknown> = {}) {
  const { status, body } = await server.call('POST', '/v1/machines', input)
  assert.equal(status, 201, JSON.stringify(body))
  return body
}

/** Undefined for a machine that the engine does not have. */
async function isFrozen({ app }: TestServer, id: MachineId): Promise<boolean | undefined> {
  return (await app.driver.list()).find(({ ref }) => ref.id === id)?.isFrozen
}
