import type { MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { untilRest } from './crash/clean-slate.ts'
import { testCrashes, type Operation } from './crash/crash-steps.ts'
import type { TestServer } from './harness.ts'

const machines: Operation<MachineId | null>[] = [
  {
    name: 'create',
    calls: [
      'driver.create',
      'driver.start',
      'guest.setIdentity',
      'guest.display',
      'write.machines',
    ],
    prepare: async () => null,
    ask: (server) => server.call('POST', '/v1/machines', { name: 'made' }),
    expect: async (server, _, { body }) => {
      assert.equal(body.name, 'made')
      await expectMachine(server, body.id, 'running', { started: 1, stopped: 0 })
    },
  },
  {
    name: 'create, to rest stopped',
    calls: ['driver.create', 'write.machines'],
    prepare: async () => null,
    ask: (server) => server.call('POST', '/v1/machines', { start: false }),
    expect: (server, _, { body }) =>
      expectMachine(server, body.id, 'stopped', { started: 0, stopped: 1 }),
  },
  {
    name: 'start',
    calls: ['driver.inspect', 'driver.resize', 'driver.start', 'guest.setIdentity'],
    prepare: stopped,
    ask: (server, id) => server.call('POST', `/v1/machines/${id}/start`),
    expect: (server, id) => expectMachine(server, id!, 'running', { started: 2, stopped: 1 }),
  },
  {
    name: 'stop',
    calls: ['driver.stop', 'write.machines', 'write.machine_events', 'write.meter_intervals'],
    prepare: running,
    ask: (server, id) => server.call('POST', `/v1/machines/${id}/stop`),
    expect: (server, id) => expectMachine(server, id!, 'stopped', { started: 1, stopped: 1 }),
  },
  {
    name: 'restart',
    calls: ['driver.stop', 'driver.start', 'guest.setIdentity', 'guest.setFence'],
    prepare: running,
    ask: (server, id) => server.call('POST', `/v1/machines/${id}/restart`),
    expect: (server, id) => expectMachine(server, id!, 'running', { started: 2, stopped: 1 }),
  },
  {
    name: 'resize and start',
    calls: ['driver.resize', 'driver.start'],
    prepare: stopped,
    ask: async (server, id) => {
      const resized = await server.call('PATCH', `/v1/machines/${id}`, { size: 'standard' })
      assert.equal(resized.status, 200)
      return server.call('POST', `/v1/machines/${id}/start`)
    },
    expect: (server, id) => expectMachine(server, id!, 'running', { started: 2, stopped: 1 }),
  },
  {
    name: 'delete',
    calls: ['driver.destroy', 'write.machines', 'write.uid_slots', 'write.input_leases'],
    prepare: async (server) => {
      const id = await running(server)
      await server.lease(id)
      return id
    },
    ask: (server, id) => server.call('DELETE', `/v1/machines/${id}`),
    expect: async (server, id) => {
      assert.equal((await server.call('GET', `/v1/machines/${id}`)).status, 404)
      const { body } = await server.call('GET', '/v1/sessions')
      assert.deepEqual(
        body.data.map(({ state }: { state: string }) => state),
        ['closed'],
      )
    },
  },
]
for (const operation of machines) testCrashes(operation)

const marker = '/home/agent/kept'

async function running(server: TestServer): Promise<MachineId> {
  const { id } = await server.machine()
  await untilRest(server.app)
  server.guest(id).disk.write(marker, Buffer.from('yes'))
  return id
}

async function stopped(server: TestServer): Promise<MachineId> {
  const id = await running(server)
  await server.call('POST', `/v1/machines/${id}/stop?wait=20`)
  return id
}

async function expectMachine(
  server: TestServer,
  id: MachineId,
  state: string,
  times: { readonly started: number; readonly stopped: number },
): Promise<void> {
  const { body } = await server.call('GET', `/v1/machines/${id}`)
  assert.equal(body.state, state)
  const { body: log } = await server.call('GET', `/v1/machines/${id}/events?limit=100`)
  const count = (type: string) =>
    log.data.filter((event: { type: string }) => event.type === type).length
  assert.deepEqual(
    [count('machine.started'), count('machine.ready'), count('machine.stopped')],
    [times.started, times.started, times.stopped],
  )
}
