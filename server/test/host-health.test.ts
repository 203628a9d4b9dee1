import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { onDisksOf } from './disks.ts'
import { startTestGateway } from './gateway.ts'
import { listHosts } from '../src/domain/hosts/hosts.ts'
import { startTestServer } from './harness.ts'
import { eventually } from './settled.ts'

const timing = { hostPollMs: 50 }
const server = await startTestServer({ after }, { timing })
const gateway = await startTestGateway({ after }, server.app)
const { controls } = server.engine
const disks = onDisksOf(server)
const reason = 'the engine of the host does not answer'

test('an engine that fails is an event of each machine that runs, once until it is back', async () => {
  const running = await server.machine()
  const stopped = await server.machine({ start: false })
  const headers = { authorization: `Bearer ${server.key}` }
  const stream = await gateway.connect(`/v1/machines/${running.id}/events`, { headers })
  const unhealthy = async () => (await disks.events(running.id, /^host/, 'message')).length
  for (const times of [1, 2]) {
    // Failures until `recover` is called.
    controls.failNext('ping', { times: 1_000_000, ofEngine: true })
    await eventually(async () => (await unhealthy()) === times || undefined)
    await pingedAgain(20)
    assert.equal(await unhealthy(), times)
    controls.recover('ping')
    await eventually(async () => (await isHealthy()) || undefined)
  }
  assert.deepEqual(await disks.events(running.id, /^host/, 'message'), [reason, reason])
  assert.deepEqual(await disks.events(stopped.id, /^host/), [])
  await eventually(async () => {
    const types = stream.controls.map(({ type }) => type)
    return types.filter((type) => type === 'host.unhealthy').length === 2 || undefined
  })
})

test('two workers record one event, and a hanging engine counts as a failing one', async () => {
  const { id } = await server.machine()
  const { stop } = server.startWorker()
  const holds = Array.from({ length: 100 }, () => controls.hangNext('ping'))
  await eventually(async () => (await disks.events(id, /^host/)).length > 0 || undefined)
  await eventually(async () => !(await isHealthy()) || undefined)
  for (const hold of holds) hold.release()
  await eventually(async () => (await isHealthy()) || undefined)
  assert.equal((await disks.events(id, /^host/)).length, 1)
  await stop()
})

test('a failure that ends in time is no event', async (t) => {
  const patient = await startTestServer(t, {
    timing: { ...timing, hostPatienceMs: 1_000_000 },
  })
  const { id } = await patient.machine()
  patient.engine.controls.failNext('ping', { times: 5, ofEngine: true })
  const before = patient.engine.controls.calls('ping')
  await eventually(async () => patient.engine.controls.calls('ping') > before + 6 || undefined)
  assert.deepEqual(await onDisksOf(patient).events(id, /^host/), [])
})

async function isHealthy(): Promise<boolean> {
  const [host] = await listHosts(server.app.db)
  return host!.unhealthy_reason === null
}

/** Waits until the workers have checked the engine that many times more. */
async function pingedAgain(times: number): Promise<void> {
  const before = controls.calls('ping')
  await eventually(async () => controls.calls('ping') >= before + times || undefined)
}
