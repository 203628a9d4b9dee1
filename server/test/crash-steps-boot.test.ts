import assert from 'node:assert/strict'
import { testCrashes } from './crash/crash-steps.ts'
import { expectMachine, stoppedMachine } from './crash/machines.ts'
import { onDisksOf } from './disks.ts'

testCrashes({
  name: 'create',
  calls: ['driver.create', 'driver.start', 'guest.setIdentity', 'guest.display', 'write.machines'],
  prepare: async () => null,
  ask: (server) => server.call('POST', '/v1/machines', { name: 'made' }),
  expect: async (server, _, { body }) => {
    assert.equal(body.name, 'made')
    await onDisksOf(server).mark(body.id, 'first')
    await expectMachine(server, body.id, 'running', { started: 1, stopped: 0 })
  },
})

testCrashes({
  name: 'create, not to be started',
  calls: ['driver.create', 'write.machines'],
  prepare: async () => null,
  ask: (server) => server.call('POST', '/v1/machines', { start: false }),
  expect: async (server, _, { body }) => {
    assert.equal(body.state, 'stopped')
    const types = await onDisksOf(server).events(body.id, /./)
    assert.deepEqual(types, ['machine.created', 'machine.stopped'])
  },
})

testCrashes({
  name: 'start',
  calls: ['driver.inspect', 'driver.start', 'guest.setIdentity', 'write.meter_intervals'],
  prepare: stoppedMachine,
  ask: (server, id) => server.call('POST', `/v1/machines/${id}/start`),
  expect: (server, id) => expectMachine(server, id, 'running', { started: 2, stopped: 1 }),
})

testCrashes({
  name: 'resize and start',
  calls: ['driver.resize', 'driver.start'],
  prepare: stoppedMachine,
  ask: async (server, id) => {
    const resized = await server.call('PATCH', `/v1/machines/${id}`, { size: 'standard' })
    assert.equal(resized.status, 200)
    return server.call('POST', `/v1/machines/${id}/start`)
  },
  expect: async (server, id, { body }) => {
    assert.deepEqual([body.size, body.disk_gb], ['standard', 25])
    await expectMachine(server, id, 'running', { started: 2, stopped: 1 })
  },
})
