import assert from 'node:assert/strict'
import { testCrashes } from './crash/crash-steps.ts'
import { runningMachine } from './crash/machines.ts'
import { onDisksOf } from './disks.ts'

testCrashes({
  name: 'delete with snapshots',
  calls: ['driver.destroy', 'driver.removeCapture', 'write.captures', 'write.snapshots'],
  prepare: async (server) => {
    const id = await runningMachine(server)
    const disks = onDisksOf(server)
    await disks.snapshot(id)
    await disks.snapshot(id)
    return id
  },
  ask: (server, id) => server.call('DELETE', `/v1/machines/${id}?snapshots=delete`),
  expect: async (server, id) => {
    assert.equal((await server.call('GET', `/v1/machines/${id}`)).status, 404)
    assert.deepEqual(await onDisksOf(server).snapshotsOf(id), [])
    assert.equal((await onDisksOf(server).events(id, /snapshot.deleted/)).length, 2)
    assert.deepEqual(await server.app.driver.listCaptures(), [])
  },
})
