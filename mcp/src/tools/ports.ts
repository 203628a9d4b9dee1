import { z } from 'zod'
import { findMachine, machine } from '../find-machine.ts'
import { changes, destroys, Refusal, tool, type Tool } from '../tool.ts'

const port = z.int().min(1).max(65535)

export const portTools: readonly Tool[] = [
  tool({
    name: 'publish_port',
    title: 'Publish a port',
    description:
      'Give a port of a machine an https address, so that the user can open what listens there. A ' +
      'private one, the default, opens for members of the organization, and once for whoever has ' +
      'the link in the answer: pass it on to the user. Make one public only if the user asks for ' +
      'it. To reach a port from inside the machine, use run_command with curl and localhost.',
    input: z.strictObject({
      machine,
      port,
      name: z.string().min(1).max(255).optional().describe('What is shown for it.'),
      access: z.enum(['private', 'public']).optional(),
    }),
    annotations: { ...changes, idempotentHint: true, openWorldHint: true },
    async run(call, { port, name, access, ...input }) {
      const found = await findMachine(call, input.machine)
      const published = await found.ports.publish(port, { name, access, signal: call.signal })
      const { url, accessUrl } = published
      const link = accessUrl ? [`Link that opens it once, within a day: ${accessUrl}`] : []
      return [`Port ${port} of ${found.name} is ${published.access} at ${url}`, ...link].join('\n')
    },
  }),
  tool({
    name: 'unpublish_port',
    title: 'Unpublish a port',
    description:
      'Take the https address of a port away again. Use it when the user has seen what was there; ' +
      'publishing again gives another address.',
    input: z.strictObject({ machine, port }),
    annotations: destroys,
    async run(call, { port, ...input }) {
      const found = await findMachine(call, input.machine)
      const { signal } = call
      for await (const preview of found.ports.list({ signal })) {
        if (preview.port !== port) continue
        await found.ports.unpublish(preview.id, { signal })
        return `Port ${port} of ${found.name} is no longer published.`
      }
      throw new Refusal(
        `Port ${port} of ${found.name} is not published. get_machine shows which are.`,
      )
    },
  }),
]
