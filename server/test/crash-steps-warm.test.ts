import assert from 'node:assert/strict'
import { listWarm } from '../src/domain/machines/warm-machines.ts'
import { untilRest } from './crash/clean-slate.ts'
import { testCrashes } from './crash/crash-steps.ts'
import { expectMachine } from './crash/machines.ts'
import { onDisksOf } from './disks.ts'

/* A machine is taken from the pool and woken, and the pool makes another one in its place. */
testCrashes({
  name: 'create from the pool',
  warmMachines: 1,
  calls: [
    'driver.wake',
    'guest.setIdentity',
    'driver.create',
    'driver.start',
    'driver.freeze',
    'write.machines',
    'write.warm_machines',
  ],
  prepare: async ({ app }) => {
    await untilRest(app)
    return (await listWarm(app.db))[0]?.id
  },
  ask: (server) => server.call('POST', '/v1/machines', { name: 'made' }),
  expect: async (server, warm, { body }) => {
    assert.deepEqual([body.id, body.name], [warm, 'made'])
    await onDisksOf(server).mark(body.id, 'first')
    await expectMachine(server, body.id, 'running', { started: 1, stopped: 0 })
  },
})
