import type { MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import type { MachineDriver } from '../src/drivers/machine-driver.ts'
import { timing } from '../src/timing.ts'
import { startTestServer } from './harness.ts'
import { gone } from './settled.ts'

/* Several workers over one database: which of them works on a machine, and for how long. */

// A busy host may suspend a worker for longer than the short claims of other tests.
const { claimMs, renewClaimsMs } = timing
const options = { worker: false, timing: { claimMs, renewClaimsMs } }
const server = await startTestServer({ after }, options)
const { driver } = server.app
afterEach(() => server.stopWorkers())

test('two workers never have two steps in flight for one machine', async () => {
  const busy = new Map<string, number>()
  const seen: string[] = []
  const watched = around(async (effect, id, call) => {
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
    await remove(body.id)
  }
  await Promise.all(Array.from({ length: 8 }, live))
  assert.deepEqual(seen, [])
  assert.deepEqual(await driver.list(), [])
})

test('a live worker keeps its claim, however long a step takes', async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>()
  let creates = 0
  const slow = around(async (effect, _, call) => {
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
  const { body } = await server.call('GET', '/v1/machines')
  const { id } = body.data[0]
  await server.call('PATCH', `/v1/machines/${id}`, { metadata: { changed: 'meanwhile' } })
  release()
  assert.equal((await creating).body.state, 'running')
  assert.equal(creates, 1)
  await remove(id)
})

type Effect = 'create' | 'resize' | 'start' | 'stop' | 'destroy' | 'capture'

/** The engine with each of its effects on a machine wrapped. */
function around(
  wrap: (effect: Effect, id: MachineId, call: () => Promise<unknown>) => Promise<void>,
): MachineDriver {
  const wrapped = async <T>(effect: Effect, id: MachineId, call: () => Promise<T>): Promise<T> => {
    let answer: T | undefined
    await wrap(effect, id, async () => {
      answer = await call()
    })
    return answer as T
  }
  return {
    ...driver,
    create: (spec) => wrapped('create', spec.id, () => driver.create(spec)),
    resize: (spec) => wrapped('resize', spec.id, () => driver.resize(spec)),
    start: (ref) => wrapped('start', ref.id, () => driver.start(ref)),
    stop: (ref, options) => wrapped('stop', ref.id, () => driver.stop(ref, options)),
    destroy: (ref) => wrapped('destroy', ref.id, () => driver.destroy(ref)),
    capture: (ref, id) => wrapped('capture', ref.id, () => driver.capture(ref, id)),
  }
}

async function remove(id: string): Promise<void> {
  await server.call('DELETE', `/v1/machines/${id}`)
  await gone(server, id)
}
