import type { Machine, Preview, Snapshot } from '@computer/sdk'
import { z } from 'zod'
import { findMachine, machine } from '../find-machine.ts'
import { findTemplate, template } from '../find-template.ts'
import { formatBytes } from '../text.ts'
import { mutating, destructive, readOnly, tool, type ToolCall, type Tool } from '../tool.ts'

export const machineTools: readonly Tool[] = [
  tool({
    name: 'list_machines',
    title: 'List machines',
    description:
      'List the machines of the organization, newest first, with name, ID, state and size. Use it ' +
      'first, to find an existing machine before you create another.',
    input: z.strictObject({
      cursor: z.string().min(1).optional().describe('Cursor given with the previous page.'),
    }),
    annotations: readOnly,
    async run({ connection, signal }, { cursor }) {
      const page = await connection.computer.machines.list({ limit: 50, cursor, signal })
      if (page.data.length === 0) return 'There are no machines. create_machine creates one.'
      const more = page.nextCursor
        ? [`There are more; continue with cursor ${page.nextCursor}`]
        : []
      return [...page.data.map(describeMachine), ...more].join('\n')
    },
  }),
  tool({
    name: 'get_machine',
    title: 'Get a machine',
    description:
      'Read the state and size of one machine, who controls its mouse and keyboard, its snapshots ' +
      'and its published ports. Use it to check the progress of an operation, and to find the ID of ' +
      'a snapshot.',
    input: z.strictObject({ machine }),
    annotations: readOnly,
    async run(call, input) {
      const found = await findMachine(call, input.machine)
      const { signal } = call
      const [lease, snapshots, ports] = await Promise.all([
        found.input.holder({ signal }),
        found.snapshots.list({ limit: 50, signal }),
        found.ports.list({ limit: 50, signal }),
      ])
      const { holder } = lease
      const controller = holder ? `${holder.openedBy.name} (${holder.type})` : 'nobody'
      return [
        describeMachine(found),
        `Mouse and keyboard are controlled by ${controller}.`,
        ...listed('Snapshots, newest first:', 'No snapshots.', snapshots.data, describeSnapshot),
        ...listed('Published ports:', 'No published ports.', ports.data, describePort),
      ].join('\n')
    },
  }),
  tool({
    name: 'create_machine',
    title: 'Create a machine',
    description:
      'Create a Linux machine with a desktop, a browser and a shell. Returns once it is running, ' +
      'usually after a few seconds. A running machine costs money: use this when no existing machine ' +
      'will do, and use stop_machine or delete_machine when you are done. list_templates lists what it ' +
      'can start from. To copy an existing machine, use fork_machine.',
    input: z.strictObject({
      name: z
        .string()
        .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/)
        .max(63)
        .optional()
        .describe('Lowercase letters, digits and hyphens. Default: generated.'),
      size: z.enum(['small', 'standard', 'large']).optional().describe('Default: small.'),
      template: template.optional(),
    }),
    annotations: mutating,
    requires: 'machines:create',
    async run(call, { template, ...input }) {
      const { connection, signal } = call
      const base = template === undefined ? undefined : await findTemplate(call, template)
      const options = { ...input, template: base, signal }
      const created = await connection.computer.machines.create(options)
      return `Created.\n${describeMachine(created)}`
    },
  }),
  tool({
    name: 'start_machine',
    title: 'Start a machine',
    description:
      'Boot a machine and return once it is running. Use it when a machine is stopped or in error. ' +
      'Its disk is kept; programs that were running are not restarted.',
    input: z.strictObject({ machine }),
    annotations: { ...mutating, idempotentHint: true },
    async run(call, input) {
      const found = await findMachine(call, input.machine)
      if (found.state === 'running') return `It is already running.\n${describeMachine(found)}`
      return describeMachine(await found.start({ signal: call.signal }))
    },
  }),
  tool({
    name: 'stop_machine',
    title: 'Stop a machine',
    description:
      'Shut down a machine. Its programs end and it no longer uses compute time; its disk is kept. ' +
      'Use it when you are done for now.',
    input: z.strictObject({
      machine,
      force: z
        .boolean()
        .optional()
        .describe('Power off at once, if it does not shut down by itself.'),
    }),
    annotations: { ...destructive, idempotentHint: true },
    async run(call, { force, ...input }) {
      const found = await findMachine(call, input.machine)
      if (found.state === 'stopped') return `It is already stopped.\n${describeMachine(found)}`
      return describeMachine(await found.stop({ force, signal: call.signal }))
    },
  }),
  tool({
    name: 'restart_machine',
    title: 'Restart a machine',
    description:
      'Shut down a machine and boot it again; return once it is running. Its programs end, its disk is ' +
      'kept. Use it when the desktop or a program hangs and nothing else helps, or after an upgrade of ' +
      'the system.',
    input: z.strictObject({ machine }),
    annotations: destructive,
    async run(call, input) {
      const found = await findMachine(call, input.machine)
      return describeMachine(await found.restart({ signal: call.signal }))
    },
  }),
  tool({
    name: 'delete_machine',
    title: 'Delete a machine',
    description:
      'Permanently delete a machine and its disk; its forks are kept, and its snapshots unless you ask ' +
      'to delete them. Use it only for a machine that you created yourself or that the user asked you ' +
      'to delete.',
    input: z.strictObject({
      machine,
      delete_snapshots: z
        .boolean()
        .optional()
        .describe('Delete its snapshots as well. They cannot be recovered. Default: false.'),
    }),
    annotations: destructive,
    requires: 'machines:delete',
    run: deleteMachine,
  }),
]

async function deleteMachine(
  call: ToolCall,
  input: { readonly machine: string; readonly delete_snapshots?: boolean | undefined },
): Promise<string> {
  const found = await findMachine(call, input.machine)
  const snapshots = input.delete_snapshots ? 'delete' : undefined
  const kept = await found.delete({ snapshots, signal: call.signal })
  call.connection.views.delete(found.id)
  const deleted = `Deleted ${found.name} (${found.id})${snapshots ? ' and its snapshots' : ''}.`
  const title =
    'Its snapshots are kept, and cost storage. The user can make templates for new machines from ' +
    'them, or delete them, newest first:'
  return kept.length === 0
    ? deleted
    : [deleted, ...listed(title, '', kept, describeSnapshot)].join('\n')
}

export function describeMachine({ data }: Machine): string {
  const { name, id, state, size, cpu, memoryMb, diskGb, createdAt } = data
  const parts = `${cpu} vCPU, ${memoryMb / 1024} GB memory, ${diskGb} GB disk`
  return `${name} (${id}): ${state}, ${size} (${parts}), created ${createdAt}`
}

function describeSnapshot({ name, id, state, origin, createdAt, sizeBytes }: Snapshot): string {
  const size = sizeBytes === null ? '' : `, ${formatBytes(sizeBytes)}`
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
