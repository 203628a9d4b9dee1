import type { MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { onDisksOf } from '../disks.ts'
import type { TestServer } from '../harness.ts'
import type { Operation } from './crash-steps.ts'
import { expectMachine, readMarkOf, runningMachine } from './machines.ts'

type Subject = { readonly id: MachineId; readonly snapshotId: string }

/** A restore of a machine that bears the mark "later" to a snapshot that holds "first". */
export function restoreOf(options: {
  readonly state: 'running' | 'stopped' | 'error'
  /** Brings the running machine to that state. */
  bring(server: TestServer, id: MachineId): Promise<void>
  readonly calls: readonly string[]
  /** Over the machine's whole life. */
  readonly times: Parameters<typeof expectMachine>[3]
}): Operation<Subject> {
  const { state, calls, times } = options
  return {
    name: `restore a machine that is ${state}`,
    calls: ['driver.capture', 'driver.create', 'driver.destroy', 'write.machines', ...calls],
    prepare: async (server) => {
      const disks = onDisksOf(server)
      const id = await runningMachine(server)
      const { id: snapshotId } = await disks.snapshot(id)
      await disks.mark(id, 'later')
      await options.bring(server, id)
      await disks.machineIn(id, state)
      return { id, snapshotId }
    },
    ask: (server, { id, snapshotId }) =>
      server.call('POST', `/v1/machines/${id}/restore`, { snapshot_id: snapshotId }),
    expect: async (server, { id }) => {
      const disks = onDisksOf(server)
      assert.deepEqual(await disks.events(id, /restore/), [
        'machine.restore_started',
        'machine.restore_completed',
      ])
      const [newest, ...others] = await disks.snapshotsOf(id, '&origin=manual')
      assert.deepEqual([newest.name, newest.state], ['Before restore', 'ready'])
      assert.equal(others.length, 1)
      await expectMachine(server, id, state === 'running' ? state : 'stopped', times)
      assert.equal(await readMarkOf(server, id, newest.id), 'later')
    },
  }
}
