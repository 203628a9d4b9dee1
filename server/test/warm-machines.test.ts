import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { createMachine } from '../src/domain/machines/creation.ts'
import { registerImage } from '../src/domain/disks/images.ts'
import { setWarm } from '../src/domain/operator/templates.ts'
import { listWarm } from '../src/domain/machines/warm-machines.ts'
import { newId } from '../src/ids.ts'
import { runWorker } from '../src/worker/loop.ts'
import { onDisksOf } from './disks.ts'
import { loseAnswers } from './one-key.ts'
import { startTestServer } from './harness.ts'
import { eventually, gone, settled } from './settled.ts'
import { create, isFrozen, startWithPool, untilReady } from './warm-pool.ts'

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

test('a machine can be taken from the moment in which it is ready, and nobody writes its row then', async (t) => {
  const server = await startTestServer(t, { env: { COMPUTER_WARM_MACHINES: '1' }, worker: false })
  const { db } = server.app
  await sql`create table writes (id text)`.execute(db)
  await sql`
    create function note_write() returns trigger language plpgsql as $$
    begin insert into writes values (new.id); return new; end $$`.execute(db)
  await sql`
    create trigger of_ready_rows after update on warm_machines for each row
    when (old.state = 'ready') execute function note_write()`.execute(db)
  server.startWorker()
  const [warm] = await untilReady(server, 1)
  await server.stopWorkers()
  assert.deepEqual((await sql`select id from writes`.execute(db)).rows, [])
  server.startWorker()
  assert.equal((await create(server)).id, warm)
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

test('a fork is not taken from the pool', async (t) => {
  const { server, warm } = await startWithPool(t)
  const source = await create(server)
  assert.equal(source.id, warm)
  const [next] = await untilReady(server, 1)
  const fork = await server.call('POST', `/v1/machines/${source.id}/fork`, {})
  assert.equal(fork.status, 201, JSON.stringify(fork.body))
  await settled(server, fork.body.id, 'running')
  assert.notEqual(fork.body.id, next)
})

test('machines of a template are kept warm if an operator says so, and have its disk', async (t) => {
  const { server, warm } = await startWithPool(t)
  const disks = onDisksOf(server)
  const source = await create(server, { size: 'standard' })
  await disks.mark(source.id, 'installed')
  const { body: template } = await server.call('POST', '/v1/templates', {
    name: 'Tools',
    machine_id: source.id,
  })
  await disks.templateIn(template.id, 'ready')
  const cold = await create(server, { template: template.id, name: 'cold' })
  await setWarm(server.app.db, template.id, 1)
  const ready = await untilReady(server, 2)
  const others = ready.filter((id) => id !== warm && id !== cold.id)
  const machine = await create(server, { template: template.id, name: 'quick' })
  assert.ok(others.includes(machine.id))
  assert.deepEqual(
    [machine.size, machine.template_id, machine.state],
    ['standard', template.id, 'running'],
  )
  assert.equal(await disks.readMark(machine.id), 'installed')
  const bytes = await server.app.db
    .selectFrom('machines')
    .select(['base_bytes', 'base_capture_id'])
    .where('id', 'in', [machine.id, cold.id])
    .execute()
  assert.deepEqual(bytes[0], bytes[1])

  await untilReady(server, 2)
  assert.equal((await server.call('DELETE', `/v1/templates/${template.id}`)).status, 204)
  const [left] = await untilReady(server, 1)
  await eventually(async () => (await listWarm(server.app.db)).length === 1 || undefined)
  const [row] = await listWarm(server.app.db)
  assert.deepEqual([row!.id, row!.base_capture_id], [left, null])
})

test('a template without a disk of its own has the machines of its image', async (t) => {
  const { server, warm } = await startWithPool(t)
  const { body: template } = await server.call('POST', '/v1/templates', { name: 'Plain' })
  await assert.rejects(setWarm(server.app.db, template.id, 1), /no disk of its own/)
  const machine = await create(server, { template: template.id })
  assert.deepEqual([machine.id, machine.template_id], [warm, template.id])
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
  const imageId = await registerImage(server.app.db, server.app.config.host, {
    recipeHash: 'newer',
    name: 'Newer',
    description: 'Another image.',
    metadataPath: '/nonexistent/metadata.tar',
    rootfsPath: '/nonexistent/rootfs.tar.zst',
    fingerprint: 'new',
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
