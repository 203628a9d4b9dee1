import type { Template } from '@computer/sdk'
import { z } from 'zod'
import { findMachine, machine } from '../find-machine.ts'
import { findSnapshot, snapshot } from '../find-snapshot.ts'
import { findTemplate, template } from '../find-template.ts'
import { formatBytes } from '../text.ts'
import { destructive, mutating, readOnly, tool, type Tool } from '../tool.ts'

export const templateTools: readonly Tool[] = [
  tool({
    name: 'list_templates',
    title: 'List templates',
    description:
      'List the templates of the organization, newest first: named starting points for create_machine, ' +
      'with files and software that are already set up. Use it before you set up a machine from nothing.',
    input: z.strictObject({
      cursor: z.string().min(1).optional().describe('Cursor given with the previous page.'),
    }),
    annotations: readOnly,
    async run({ connection, signal }, { cursor }) {
      const page = await connection.computer.templates.list({ limit: 50, cursor, signal })
      if (page.data.length === 0) return 'There are no templates. create_template makes one.'
      const more = page.nextCursor
        ? [`There are more; continue with cursor ${page.nextCursor}`]
        : []
      return [...page.data.map(describeTemplate), ...more].join('\n')
    },
  }),
  tool({
    name: 'create_template',
    title: 'Create a template',
    description:
      'Make a template from the current disk of a running machine, or from one of its snapshots, for the ' +
      'whole organization. Use it when machines like this one will be needed again. Secrets and running ' +
      'programs are not part of it.',
    input: z.strictObject({
      machine,
      name: z.string().min(1).max(255).describe('Unique among the templates.'),
      description: z.string().max(1000).optional().describe('What is set up in it.'),
      snapshot: snapshot.optional(),
    }),
    annotations: mutating,
    requires: 'templates:write',
    async run(call, { name, description, ...input }) {
      const found = await findMachine(call, input.machine)
      const base =
        input.snapshot === undefined
          ? { machineId: found.id }
          : { snapshotId: await findSnapshot(call, found, input.snapshot) }
      const body = { ...base, name, ...(description !== undefined && { description }) }
      const { templates } = call.connection.computer
      return `Created.\n${describeTemplate(await templates.create(body, { signal: call.signal }))}`
    },
  }),
  tool({
    name: 'delete_template',
    title: 'Delete a template',
    description:
      'Permanently delete a template; machines created from it are not affected. Use it only for a ' +
      'template that you created yourself or that the user asked you to delete.',
    input: z.strictObject({ template }),
    annotations: destructive,
    requires: 'templates:write',
    async run(call, input) {
      const id = await findTemplate(call, input.template)
      await call.connection.computer.templates.delete(id, { signal: call.signal })
      return `Deleted the template ${input.template}.`
    },
  }),
]

function describeTemplate({ name, id, state, size, description, sizeBytes }: Template): string {
  const disk = sizeBytes === null ? '' : `, ${formatBytes(sizeBytes)}`
  return `${name} (${id}): ${state}, ${size}${disk}${description ? `: ${description}` : ''}`
}
