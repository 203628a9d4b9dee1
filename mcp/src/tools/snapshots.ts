import { z } from 'zod'
import { findMachine, machine } from '../find-machine.ts'
import { changes, destroys, tool, type Tool } from '../tool.ts'
import { describeMachine } from './machines.ts'

const snapshot = z.string().regex(/^snp_[0-9a-z]+$/)

export const snapshotTools: readonly Tool[] = [
  tool({
    name: 'create_snapshot',
    title: 'Take a snapshot',
    description:
      'Keep the disk of a running machine as it is now, so that restore_snapshot can go back to it ' +
      'and fork_machine can branch from it. Use it before you try something that may go wrong. It ' +
      'holds files, installed software and logins of the browser, not running programs.',
    input: z.strictObject({
      machine,
      name: z.string().min(1).max(255).optional().describe('Default: one is made up.'),
    }),
    annotations: changes,
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
      'Put a machine back onto one of its snapshots. What changed on its disk since then is gone ' +
      'from it, though kept as a snapshot named "Before restore"; running programs end, and a ' +
      'running machine is restarted. To keep the machine as it is, use fork_machine with the snapshot.',
    input: z.strictObject({ machine, snapshot: snapshot.describe('Its id: see get_machine.') }),
    annotations: destroys,
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
      'Make a new machine with a copy of the disk of another, as it is now or as a snapshot has it. ' +
      'Both go on separately. Use it to try several ways at once, or to begin from a machine that ' +
      'is set up already. Answers once the new machine runs.',
    input: z.strictObject({
      machine,
      name: z
        .string()
        .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/)
        .max(63)
        .optional()
        .describe('Of the new machine. Default: one is made up.'),
      snapshot: snapshot.optional().describe('Default: the disk as it is now.'),
    }),
    annotations: changes,
    async run(call, { name, snapshot, ...input }) {
      const found = await findMachine(call, input.machine)
      const { signal } = call
      const fork = await found.fork({ name, snapshotId: snapshot, signal })
      return `Forked ${found.name}.\n${describeMachine(fork)}`
    },
  }),
]
