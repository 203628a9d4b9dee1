import type { MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { sql } from 'kysely'
import type { MachineDriver, MachineRef } from '../src/drivers/machine-driver.ts'
import { startTestServer } from './harness.ts'
import { eventually, gone } from './settled.ts'

/*
 * Workers that die in the middle of a step. A dead worker is one whose call to the engine never
 * comes back and whose claims have run out; the next one must bring the machine to where it should
 * be, once, and nothing that the dead one still does may change that.
 */

type Effect = 'create' | 'resize' | 'start' | 'stop' | 'destroy'

const server = await startTestServer({ after }, { worker: false })
const { db, driver } = server.app
const releases: (() => void)[] = []
afterEach(async () => {
  for (const release of releases.splice(0)) release()
  await server.stopWorkers()
})

for (const when of ['before', 'after'] as const) {
  for (const effect of ['create', 'start'] as const) {
    test(`a worker that dies ${when} ${effect}: the machine comes up once`, async () => {
      const creating = server.call('POST', '/v1/machines', {})
      const dead = await dieAt(effect, when)
      server.startWorker()
      const { body } = await creating
      assert.equal(body.state, 'running')
      await dead.comeBack()
      assert.equal((await server.call('GET', `/v1/machines/${body.id}`)).body.state, 'running')
      assert.equal(await instancesOf(body.id), 1)
      assert.equal(await countEvents(body.id, 'machine.started'), 1)
      await remove(body.id)
    })
  }

  for (const effect of ['resize', 'start'] as const) {
    test(`a worker that dies ${when} ${effect} of a start: the machine runs once`, async () => {
      const id = await stoppedMachine()
      const starting = server.call('POST', `/v1/machines/${id}/start?wait=20`)
      const dead = await dieAt(effect, when)
      server.startWorker()
      assert.equal((await starting).body.state, 'running')
      await dead.comeBack()
      assert.equal(await countEvents(id, 'machine.started'), 1)
      assert.equal(await driver.inspect(ref(id)), 'running')
      await remove(id)
    })
  }

  for (const [path, state] of [
    ['stop', 'stopped'],
    ['restart', 'running'],
  ] as const) {
    test(`a worker that dies ${when} stop of a ${path}: the machine is ${state}`, async () => {
      const id = await runningMachine()
      const moving = server.call('POST', `/v1/machines/${id}/${path}?wait=20`)
      const dead = await dieAt('stop', when)
      server.startWorker()
      assert.equal((await moving).body.state, state)
      // A stop that arrives after the restart would stop the machine: nothing can tell the two.
      if (path === 'stop') await dead.comeBack()
      assert.equal((await server.call('GET', `/v1/machines/${id}`)).body.state, state)
      assert.equal(await countEvents(id, 'machine.stopped'), 1)
      await remove(id)
    })
  }

  test(`a worker that dies ${when} destroy: the machine is gone, and its uids are free`, async () => {
    const id = await runningMachine()
    await server.call('DELETE', `/v1/machines/${id}`)
    const dead = await dieAt('destroy', when)
    server.startWorker()
    await gone(server, id)
    await dead.comeBack()
    assert.equal(await instancesOf(id), 0)
    assert.equal(await countEvents(id, 'machine.deleted'), 1)
    const { rows } = await sql`select from uid_slots where machine_id = ${id}`.execute(db)
    assert.equal(rows.length, 0)
  })
}

test('two workers never have two steps in flight for one machine', async () => {
  const busy = new Map<string, number>()
  const seen: string[] = []
  const watched = around(async (effect, { id }, call) => {
    busy.set(id, (busy.get(id) ?? 0) + 1)
    if (busy.get(id)! > 1) seen.push(`${effect} ${id}`)
    for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
    await call()
    busy.set(id, busy.get(id)! - 1)
  })
  for (const _ of [1, 2]) server.startWorker(watched)
  const live = async () => {
    const { body } = await server.call('POST', '/v1/machines', {})
    for (const path of ['stop', 'start', 'restart', 'stop']) {
      const answer = await server.call('POST', `/v1/machines/${body.id}/${path}?wait=20`)
      assert.equal(answer.status, 202)
    }
    await server.call('DELETE', `/v1/machines/${body.id}`)
    await gone(server, body.id)
  }
  await Promise.all(Array.from({ length: 8 }, live))
  assert.deepEqual(seen, [])
  assert.deepEqual(await driver.list(), [])
})

test('a worker that lives keeps its claim, however long a step takes', async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>()
  let creates = 0
  const slow = around(async (effect, _ref, call) => {
    if (effect === 'create') {
      creates += 1
      reach()
      await held
    }
    await call()
  })
  server.startWorker(slow)
  const creating = server.call('POST', '/v1/machines', {})
  await reached
  server.startWorker(slow)
  const session = await server.call('GET', '/v1/machines')
  const { id } = session.body.data[0]
  await server.call('PATCH', `/v1/machines/${id}`, { metadata: { changed: 'meanwhile' } })
  release()
  assert.equal((await creating).body.state, 'running')
  assert.equal(creates, 1)
  await remove(id)
})

/** Lets a worker run until it is in the middle of that effect, and takes its claims away. */
async function dieAt(effect: Effect, when: 'before' | 'after') {
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>()
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const done: Promise<void>[] = []
  releases.push(release)
  const dying = around(async (called, _ref, call) => {
    const dies = called === effect
    const run = async () => {
      if (!dies || when === 'after') await call()
      if (!dies) return
      reach()
      await held
      if (when === 'before') await call()
    }
    const running = run()
    if (dies) done.push(running.catch(() => {}))
    return running
  })
  const worker = server.startWorker(dying)
  await reached
  void worker.stop()
  await db
    .updateTable('machines')
    .set({ claimed_until: sql`clock_timestamp() - interval '1 second'` })
    .where('claimed_until', 'is not', null)
    .execute()
  return {
    /** What it was waiting for arrives after all. */
    async comeBack() {
      release()
      await Promise.all(done)
    },
  }
}

/** The engine with something around each of its effects. */
function around(
  wrap: (effect: Effect, ref: MachineRef, call: () => Promise<void>) => Promise<void>,
): MachineDriver {
  return {
    ...driver,
    create: (spec) => wrap('create', spec, () => driver.create(spec)),
    resize: (spec) => wrap('resize', spec, () => driver.resize(spec)),
    start: (of) => wrap('start', of, () => driver.start(of)),
    stop: (of, options) => wrap('stop', of, () => driver.stop(of, options)),
    destroy: (of) => wrap('destroy', of, () => driver.destroy(of)),
  }
}

async function stoppedMachine(): Promise<MachineId> {
  const worker = server.startWorker()
  const { id } = await server.machine({ start: false })
  await worker.stop()
  return id
}

async function runningMachine(): Promise<MachineId> {
  const worker = server.startWorker()
  const { id } = await server.machine()
  await eventually(async () => (await countEvents(id, 'machine.ready')) || undefined)
  await worker.stop()
  return id
}

async function remove(id: string): Promise<void> {
  const worker = server.startWorker()
  await server.call('DELETE', `/v1/machines/${id}`)
  await gone(server, id)
  await worker.stop()
}

async function instancesOf(id: string): Promise<number> {
  return (await driver.list()).filter((instance) => instance.ref.id === id).length
}

async function countEvents(id: string, type: string): Promise<number> {
  const { rows } = await sql`select from machine_events
    where machine_id = ${id} and type = ${type}`.execute(db)
  return rows.length
}

function ref(id: MachineId): MachineRef {
  return { id, generation: 1 }
}
