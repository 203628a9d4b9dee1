import { z } from 'zod'
import { findMachine, machine } from '../find-machine.ts'
import { findSnapshot, snapshot } from '../find-snapshot.ts'
import { mutating, destructive, tool, type Tool } from '../tool.ts'
import { describeMachine } from './machines.ts'

export const snapshotTools: readonly Tool[] = [
  tool({
    name: 'create_snapshot',
    title: 'Take a snapshot',
    description:
      'Save the current disk of a running machine, to return to it with restore_snapshot or to branch ' +
      'from it with fork_machine. Use it before you try something risky. It includes files, installed ' +
      'software and browser logins, but not running programs.',
    input: z.strictObject({
      machine,
      name: z.string().min(1).max(255).optional().describe('Default: generated.'),
    }),
    annotations: mutating,
    requires: 'snapshots:write',
    async run(call, { name, ...input }) {
      const found = await findMachine(call, input.machine)
      const taken = await found.snapshots.create({ name, signal: call.signal })
      return `Snapshot ${taken.id} ("${taken.name}") of ${found.name} is ready.`
    },
  }),
  tool({
    name: 'restore_snapshot',
    title: 'Restore a snapshot',
    description:
      'Restore a machine to one of its snapshots. The current disk is first saved as a snapshot named ' +
      '"Before restore"; running programs end, and a running machine is restarted. To keep the ' +
      'machine as it is, use fork_machine with the snapshot instead.',
    input: z.strictObject({ machine, snapshot }),
    annotations: destructive,
    async run(call, input) {
      const found = await findMachine(call, input.machine)
      const id = await findSnapshot(call, found, input.snapshot)
      await found.restore(id, { signal: call.signal })
      return `Restored ${input.snapshot}.\n${describeMachine(found)}`
    },
  }),
  tool({
    name: 'delete_snapshot',
    title: 'Delete a snapshot',
    description:
      'Permanently delete the newest snapshot of a machine; older ones can be deleted only after it. Use ' +
      'it to make room when the plan allows no more snapshots, for snapshots that you took yourself or ' +
      'that the user asked you to delete.',
    input: z.strictObject({ machine, snapshot }),
    annotations: destructive,
    requires: 'snapshots:delete',
    async run(call, input) {
      const found = await findMachine(call, input.machine)
      const id = await findSnapshot(call, found, input.snapshot)
      await found.snapshots.delete(id, { signal: call.signal })
      return `Deleted the snapshot ${input.snapshot} of ${found.name}.`
    },
  }),
  tool({
    name: 'fork_machine',
    title: 'Fork a machine',
    description:
      'Create a new machine from a copy of the current disk of another, or from one of its snapshots. ' +
      'The two are independent. Use it to try several approaches in parallel, or to start from a ' +
      'machine that is already set up. Returns once the new machine is running.',
    input: z.strictObject({
      machine,
      name: z
        .string()
        .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/)
        .max(63)
        .optional()
        .describe('Name of the new machine. Default: generated.'),
      snapshot: snapshot.optional(),
    }),
    annotations: mutating,
    requires: 'machines:create',
    async run(call, { name, snapshot, ...input }) {
      const found = await findMachine(call, input.machine)
      const { signal } = call
      const snapshotId =
        snapshot === undefined ? undefined : await findSnapshot(call, found, snapshot)
      const fork = await found.fork({ name, snapshotId, signal })
      return `Forked ${found.name}.\n${describeMachine(fork)}`
    },
  }),
]
