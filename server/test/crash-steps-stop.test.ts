import assert from 'node:assert/strict'
import { testCrashes } from './crash/crash-steps.ts'
import { expectMachine, runningMachine } from './crash/machines.ts'
import { onDisksOf } from './disks.ts'

testCrashes({
  name: 'stop',
  calls: ['driver.stop', 'driver.capture', 'write.machine_events', 'write.meter_intervals'],
  prepare: runningMachine,
  ask: (server, id) => server.call('POST', `/v1/machines/${id}/stop`),
  expect: async (server, id) => {
    const kept = await onDisksOf(server).snapshotsOf(id, '&origin=stop')
    assert.deepEqual(
      kept.map(({ state }) => state),
      ['ready'],
    )
    await expectMachine(server, id, 'stopped', { started: 1, stopped: 1 })
  },
})

testCrashes({
  name: 'restart',
  calls: ['driver.stop', 'driver.start', 'guest.setIdentity', 'guest.setFence'],
  prepare: runningMachine,
  ask: (server, id) => server.call('POST', `/v1/machines/${id}/restart`),
  expect: (server, id) => expectMachine(server, id, 'running', { started: 2, stopped: 1 }),
})

testCrashes({
  name: 'delete',
  calls: ['driver.destroy', 'write.machines', 'write.uid_slots', 'write.input_leases'],
  prepare: async (server) => {
    const id = await runningMachine(server)
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
})
