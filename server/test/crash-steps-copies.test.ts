import assert from 'node:assert/strict'
import { testCrashes } from './crash/crash-steps.ts'
import { expectMachine, runningMachine } from './crash/machines.ts'
import { onDisksOf } from './disks.ts'

testCrashes({
  name: 'create from a template',
  calls: ['driver.create', 'driver.start', 'guest.setIdentity'],
  prepare: async (server) => {
    const machine_id = await runningMachine(server)
    const { body } = await server.call('POST', '/v1/templates', { machine_id, name: 'base' })
    await onDisksOf(server).templateIn(body.id, 'ready')
    return body.id as string
  },
  ask: (server, template) => server.call('POST', '/v1/machines', { template }),
  expect: async (server, template, { body }) => {
    assert.equal(body.template_id, template)
    await expectMachine(server, body.id, 'running', { started: 1, stopped: 0 })
  },
})

testCrashes({
  name: 'fork',
  calls: ['guest.flush', 'driver.capture', 'driver.create', 'driver.start', 'driver.removeCapture'],
  prepare: runningMachine,
  ask: (server, id) => server.call('POST', `/v1/machines/${id}/fork`, { name: 'fork' }),
  expect: async (server, id, { body }) => {
    for (const machine of [id, body.id]) {
      await expectMachine(server, machine, 'running', { started: 1, stopped: 0 })
    }
    assert.deepEqual(await server.app.driver.listCaptures(), [])
  },
})

testCrashes({
  name: 'fork from a snapshot',
  calls: ['driver.create', 'driver.start', 'guest.setIdentity'],
  prepare: async (server) => {
    const id = await runningMachine(server)
    const { id: snapshotId } = await onDisksOf(server).snapshot(id)
    await onDisksOf(server).mark(id, 'later')
    return { id, snapshotId: snapshotId as string }
  },
  ask: (server, { id, snapshotId }) =>
    server.call('POST', `/v1/machines/${id}/fork`, { snapshot_id: snapshotId }),
  expect: async (server, { id }, { body }) => {
    await expectMachine(server, body.id, 'running', { started: 1, stopped: 0 })
    assert.equal(await onDisksOf(server).readMark(id), 'later')
  },
})
