import { z } from 'zod'
import { findMachine, machine } from '../find-machine.ts'
import { ToolError } from '../tool-error.ts'
import { mutating, destructive, tool, type Tool } from '../tool.ts'

const port = z.int().min(1).max(65535)

export const portTools: readonly Tool[] = [
  tool({
    name: 'publish_port',
    title: 'Publish a port',
    description:
      'Publish a port of a machine at an https URL, so that the user can open what listens there. By ' +
      'default it is private: open to members of the organization, and once to anyone with the link ' +
      'in the result, which you pass on to the user. Make it public only if the user asks for that. ' +
      'To reach a port from inside the machine, use run_command with curl and localhost.',
    input: z.strictObject({
      machine,
      port,
      name: z.string().min(1).max(255).optional().describe('Display name.'),
      access: z.enum(['private', 'public']).optional(),
    }),
    annotations: { ...mutating, idempotentHint: true, openWorldHint: true },
    requires: 'ports:write',
    async run(call, { port, name, access, ...input }) {
      const found = await findMachine(call, input.machine)
      const published = await found.ports.publish(port, { name, access, signal: call.signal })
      const { url, accessUrl } = published
      const link = accessUrl ? [`One-time link, valid for a day: ${accessUrl}`] : []
      return [`Port ${port} of ${found.name} is ${published.access} at ${url}`, ...link].join('\n')
    },
  }),
  tool({
    name: 'unpublish_port',
    title: 'Unpublish a port',
    description:
      'Remove the https URL of a published port. Use it when the user no longer needs it; publishing ' +
      'the port again gives a different URL.',
    input: z.strictObject({ machine, port }),
    annotations: destructive,
    requires: 'ports:write',
    async run(call, { port, ...input }) {
      const found = await findMachine(call, input.machine)
      const { signal } = call
      for await (const preview of found.ports.list({ signal })) {
        if (preview.port !== port) continue
        await found.ports.unpublish(preview.id, { signal })
        return `Port ${port} of ${found.name} is no longer published.`
      }
      throw new ToolError(
        `Port ${port} of ${found.name} is not published. get_machine lists published ports.`,
      )
    },
  }),
]
