import type { Machine, Preview, Snapshot } from '@computer/sdk'
import { z } from 'zod'
import { findMachine, machine } from '../find-machine.ts'
import { bytesInWords } from '../text.ts'
import { changes, destroys, looks, tool, type Call, type Tool } from '../tool.ts'

export const machineTools: readonly Tool[] = [
  tool({
    name: 'list_machines',
    title: 'List machines',
    description:
      'List the machines of the organization, newest first, with name, id, state and size. Use it ' +
      'first, to find a machine to work on before you create another.',
    input: z.strictObject({
      cursor: z.string().min(1).optional().describe('Where the page before said to go on.'),
    }),
    annotations: looks,
    async run({ connection, signal }, { cursor }) {
      const page = await connection.computer.machines.list({ limit: 50, cursor, signal })
      if (page.data.length === 0) return 'There is no machine. create_machine makes one.'
      const more = page.nextCursor ? [`There are more: cursor ${page.nextCursor}`] : []
      return [...page.data.map(describeMachine), ...more].join('\n')
    },
  }),
  tool({
    name: 'get_machine',
    title: 'Look at a machine',
    description:
      'Read the state and size of one machine, who controls its mouse and keyboard, its snapshots ' +
      'and its published ports. Use it to see how something that takes time stands, and to find ' +
      'the id of a snapshot.',
    input: z.strictObject({ machine }),
    annotations: looks,
    async run(call, input) {
      const found = await findMachine(call, input.machine)
      const { signal } = call
      const [lease, snapshots, ports] = await Promise.all([
        found.input.holder({ signal }),
        found.snapshots.list({ limit: 50, signal }),
        found.ports.list({ limit: 50, signal }),
      ])
      const { holder } = lease
      const who = holder ? `${holder.openedBy.name} (${holder.type})` : 'nobody'
      return [
        describeMachine(found),
        `Mouse and keyboard are controlled by ${who}.`,
        ...listed('Snapshots, newest first:', 'No snapshots.', snapshots.data, describeSnapshot),
        ...listed('Published ports:', 'No published ports.', ports.data, describePort),
      ].join('\n')
    },
  }),
  tool({
    name: 'create_machine',
    title: 'Create a machine',
    description:
      'Create a Linux machine with a desktop, a browser and a shell. Answers once it runs, usually ' +
      'after some seconds. It costs while it runs: use it when no existing machine will do, and ' +
      'stop_machine or delete_machine when you are done. To get a copy of a machine with all that ' +
      'is on it, use fork_machine.',
    input: z.strictObject({
      name: z
        .string()
        .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/)
        .max(63)
        .optional()
        .describe('Lower-case letters, digits and hyphens. Default: one is made up.'),
      size: z.enum(['small', 'standard', 'large']).optional().describe('Default: small.'),
      template: z
        .string()
        .regex(/^tpl_/)
        .optional()
        .describe('Id of a template to begin from, if the user named one.'),
    }),
    annotations: changes,
    async run({ connection, signal }, input) {
      const created = await connection.computer.machines.create({ ...input, signal })
      return `Created.\n${describeMachine(created)}`
    },
  }),
  tool({
    name: 'start_machine',
    title: 'Start a machine',
    description:
      'Boot a machine. Answers once it runs. Use it when a machine is stopped, or in error: its disk ' +
      'is as it was, while programs that ran before are not started again.',
    input: z.strictObject({ machine }),
    annotations: { ...changes, idempotentHint: true },
    async run(call, input) {
      const found = await findMachine(call, input.machine)
      if (found.state === 'running') return `It runs already.\n${describeMachine(found)}`
      return describeMachine(await found.start({ signal: call.signal }))
    },
  }),
  tool({
    name: 'stop_machine',
    title: 'Stop a machine',
    description:
      'Shut a machine down. Its disk is kept and it no longer costs computing time; programs that ' +
      'run on it end. Use it when you are done for now.',
    input: z.strictObject({
      machine,
      force: z.boolean().optional().describe('Pull the plug, if it does not shut down otherwise.'),
    }),
    annotations: { ...destroys, idempotentHint: true },
    async run(call, { force, ...input }) {
      const found = await findMachine(call, input.machine)
      if (found.state === 'stopped') return `It is stopped already.\n${describeMachine(found)}`
      return describeMachine(await found.stop({ force, signal: call.signal }))
    },
  }),
  tool({
    name: 'delete_machine',
    title: 'Delete a machine',
    description:
      'Delete a machine and its disk for ever; its snapshots and forks stay. Use it only for a ' +
      'machine that you made yourself or that the user asked you to delete.',
    input: z.strictObject({ machine }),
    annotations: destroys,
    run: deleteMachine,
  }),
]

async function deleteMachine(call: Call, input: { readonly machine: string }): Promise<string> {
  const found = await findMachine(call, input.machine)
  await found.delete({ signal: call.signal })
  call.connection.shown.delete(found.id)
  return `Deleted ${found.name} (${found.id}).`
}

export function describeMachine({ data }: Machine): string {
  const { name, id, state, size, cpu, memoryMb, diskGb, createdAt } = data
  const parts = `${cpu} vCPU, ${memoryMb / 1024} GB memory, ${diskGb} GB disk`
  return `${name} (${id}): ${state}, ${size} (${parts}), created ${createdAt}`
}

function describeSnapshot({ name, id, state, origin, createdAt, sizeBytes }: Snapshot): string {
  const size = sizeBytes === null ? '' : `, ${bytesInWords(sizeBytes)}`
  return `${name} (${id}): ${state}, ${origin}, taken ${createdAt}${size}`
}

function describePort({ port, name, access, url }: Preview): string {
  return `${port}${name ? ` (${name})` : ''}: ${access}, ${url}`
}

function listed<T>(
  title: string,
  ifEmpty: string,
  items: readonly T[],
  describe: (item: T) => string,
): string[] {
  return items.length === 0 ? [ifEmpty] : [title, ...items.map((item) => `- ${describe(item)}`)]
}
