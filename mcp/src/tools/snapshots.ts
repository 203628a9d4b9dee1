import { z } from 'zod'
import { findMachine, machine } from '../find-machine.ts'
import { mutating, destructive, tool, type Tool } from '../tool.ts'
import { describeMachine } from './machines.ts'

const snapshot = z.string().regex(/^snp_[0-9a-z]+$/)

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
    input: z.strictObject({
      machine,
      snapshot: snapshot.describe('Snapshot ID, as listed by get_machine.'),
    }),
    annotations: destructive,
    async run(call, input) {
      const found = await findMachine(call, input.machine)
      await found.restore(input.snapshot, { signal: call.signal })
      return `Restored ${input.snapshot}.\n${describeMachine(found)}`
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
      snapshot: snapshot.optional().describe('Snapshot to fork. Default: the current disk.'),
    }),
    annotations: mutating,
    async run(call, { name, snapshot, ...input }) {
      const found = await findMachine(call, input.machine)
      const { signal } = call
      const fork = await found.fork({ name, snapshotId: snapshot, signal })
      return `Forked ${found.name}.\n${describeMachine(fork)}`
    },
  }),
]
