import type { MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { observeAll } from '../src/worker/observe.ts'
import { testCrashes, type Operation } from './crash/crash-steps.ts'
import { markedMachine, markOfFork } from './crash/marked-machines.ts'
import { onDisksOf } from './disks.ts'
import type { TestServer } from './harness.ts'

type Subject = { readonly id: MachineId; readonly snapshotId: string }

/** A restore of a machine that bears the mark "later" to a snapshot that holds "first". */
function restore(
  state: 'running' | 'stopped' | 'error',
  calls: readonly string[],
  bring: (server: TestServer, id: MachineId) => Promise<void>,
): Operation<Subject> {
  return {
    name: `restore a machine that is ${state}`,
    calls: ['driver.capture', 'driver.create', 'driver.destroy', 'write.machines', ...calls],
    prepare: async (server) => {
      const disks = onDisksOf(server)
      const id = await markedMachine(server)
      const { id: snapshotId } = await disks.snapshot(id)
      await disks.mark(id, 'later')
      await bring(server, id)
      await disks.machineIn(id, state)
      return { id, snapshotId }
    },
    ask: (server, { id, snapshotId }) =>
      server.call('POST', `/v1/machines/${id}/restore`, { snapshot_id: snapshotId }),
    expect: async (server, { id }) => {
      const disks = onDisksOf(server)
      const rest = state === 'running' ? 'running' : 'stopped'
      assert.equal((await disks.machineIn(id, rest)).state, rest)
      assert.deepEqual(await disks.events(id, /restore/), [
        'machine.restore_started',
        'machine.restore_completed',
      ])
      const kept = await disks.snapshotsOf(id, '&origin=manual')
      assert.deepEqual(
        kept.map((snapshot) => [snapshot.name === 'Before restore', snapshot.state]),
        [
          [true, 'ready'],
          [false, 'ready'],
        ],
      )
      if (rest === 'stopped') await disks.move(id, 'start')
      assert.equal(await disks.readMark(id), 'first')
      assert.equal(await markOfFork(server, id, kept[0].id), 'later')
    },
  }
}

testCrashes(
  restore(
    'running',
    ['guest.flush', 'driver.stop', 'driver.start', 'guest.setIdentity'],
    async () => {},
  ),
)
testCrashes(
  restore('stopped', [], async (server, id) => {
    await onDisksOf(server).move(id, 'stop')
  }),
)
testCrashes(
  restore('error', [], async (server, id) => {
    server.engine.controls.die({ id, generation: 1 })
    await observeAll(server.app)
  }),
)
