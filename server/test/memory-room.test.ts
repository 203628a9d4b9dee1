import { CreateMachine } from '@computer/contract'
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { eventually } from '../../e2e/harness/polling.ts'
import { createMachine } from '../src/domain/machines/creation.ts'
import { newId } from '../src/ids.ts'
import { startTestServer, type TestServer } from './harness.ts'

const mebibyte = 2 ** 20
const gibibyte = 2 ** 30

async function startServer(t: TestContext) {
  const server = await startTestServer(t, { worker: false })
  const worker = server.startWorker()
  /** Resolves when a worker has seen so much. */
  const setAvailable = async (bytes: number) => {
    server.engine.controls.setAvailableMemory(bytes)
    server.startWorker()
    await eventually('the worker has measured', async () => {
      const seen = await server.app.db.selectFrom('hosts').selectAll().executeTakeFirst()
      return seen?.memory_available_bytes === bytes || undefined
    })
    await server.stopWorkers()
  }
  return { server, worker, setAvailable }
}

/** Creates a machine without the wait of a call. */
async function creating({ app, user }: TestServer) {
  const owner = await user('owner', 'stranger')
  return () => createMachine(app, owner, newId('mch'), CreateMachine.parse({}))
}

test('while the memory of the host is full no machine starts, and all else works', async (t) => {
  const { server, worker, setAvailable } = await startServer(t)
  const { id } = await server.machine()
  const { id: stopped } = await server.machine({ start: false })
  await worker.stop()
  // A twentieth of the fake host stays free.
  await setAvailable(51 * gibibyte)
  for (const [path, body] of [
    ['/v1/machines', {}],
    [`/v1/machines/${id}/fork`, {}],
    [`/v1/machines/${stopped}/start`, {}],
  ] as const) {
    const { status, body: answer, headers } = await server.call('POST', path, body)
    assert.deepEqual([status, answer.error.code], [503, 'compute_unavailable'], path)
    assert.match(answer.error.message, /memory of this server is full: stop machines/)
    assert.equal(headers['retry-after'], '10')
  }
  server.startWorker()
  const idle = await server.call('POST', '/v1/machines', { start: false })
  assert.deepEqual([idle.status, idle.body.state], [201, 'stopped'])
  assert.equal((await server.call('POST', `/v1/machines/${id}/restart?wait=20`)).status, 202)
  assert.equal((await server.call('POST', `/v1/machines/${id}/stop?wait=20`)).body.state, 'stopped')
})

test('machines that are on their way count before they take their memory', async (t) => {
  const { server, worker, setAvailable } = await startServer(t)
  await worker.stop()
  await setAvailable(Math.ceil(1024 * gibibyte * 0.05) + gibibyte)
  const create = await creating(server)
  for (let count = 0; count < 4; count++) await create()
  await assert.rejects(create(), { code: 'compute_unavailable' })
})

test('what the cache has of the programs of machines that run is not available', async (t) => {
  const { server, worker } = await startServer(t)
  await worker.stop()
  const { db } = server.app
  const create = await creating(server)
  for (let count = 0; count < 20; count++) await create()
  await db.updateTable('machines').set({ state: 'running' }).execute()
  // The new one needs 256 MiB to start, and 64 MiB are kept for each.
  const needed = (256 + 21 * 64) * mebibyte
  const setAvailable = async (bytes: number) => {
    const memory = { memory_total_bytes: 8 * gibibyte, memory_available_bytes: bytes }
    await db.updateTable('hosts').set(memory).execute()
  }
  await setAvailable(needed - 1)
  await assert.rejects(create(), { code: 'compute_unavailable' })
  await setAvailable(needed)
  await create()
})
