import assert from 'node:assert/strict'
import { testCrashes } from './crash/crash-steps.ts'
import { readMarkOf, runningMachine } from './crash/machines.ts'
import { onDisksOf } from './disks.ts'

testCrashes({
  name: 'snapshot',
  calls: ['guest.flush', 'driver.capture', 'write.captures'],
  prepare: runningMachine,
  ask: (server, id) => server.call('POST', '/v1/snapshots', { machine_id: id, name: 'kept' }),
  expect: async (server, id, { body }) => {
    const kept = await server.call('GET', `/v1/snapshots/${body.id}`)
    assert.deepEqual([kept.body.state, kept.body.name], ['ready', 'kept'])
    assert.equal(await readMarkOf(server, id, body.id), 'first')
    const types = await onDisksOf(server).events(id, /^snapshot/)
    assert.deepEqual(types, ['snapshot.started', 'snapshot.completed'])
  },
})

testCrashes({
  name: 'delete a snapshot',
  calls: ['driver.removeCapture', 'write.snapshots', 'write.captures'],
  prepare: async (server) => {
    const id = await runningMachine(server)
    return { id, snapshotId: (await onDisksOf(server).snapshot(id)).id as string }
  },
  ask: (server, { snapshotId }) => server.call('DELETE', `/v1/snapshots/${snapshotId}`),
  expect: async (server, { id, snapshotId }) => {
    assert.equal((await server.call('GET', `/v1/snapshots/${snapshotId}`)).status, 404)
    assert.deepEqual(await onDisksOf(server).events(id, /deleted/), ['snapshot.deleted'])
    assert.deepEqual(await server.app.driver.listCaptures(), [])
  },
})

testCrashes({
  name: 'template of a machine',
  calls: ['guest.flush', 'driver.capture', 'write.captures'],
  prepare: runningMachine,
  ask: (server, id) => server.call('POST', '/v1/templates', { machine_id: id, name: 'kept' }),
  expect: async (server, id, { body }) => {
    const kept = await server.call('GET', `/v1/templates/${body.id}`)
    assert.equal(kept.body.state, 'ready')
    assert.equal(await readMarkOf(server, id, kept.body.snapshot_id), 'first')
  },
})
