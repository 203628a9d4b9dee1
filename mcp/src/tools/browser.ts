import { z } from 'zod'
import { findMachine, machine } from '../find-machine.ts'
import { showEffect } from '../show-screen.ts'
import { mutating, tool, type Tool } from '../tool.ts'

export const browserTools: readonly Tool[] = [
  tool({
    name: 'open_page',
    title: 'Open a page in the browser',
    description:
      'Open a URL in the browser on the screen of a machine, in a new tab if the browser is already ' +
      'running. Use it to go to a page; the answer is a picture of the screen. To read a page or an ' +
      'API without viewing it, run_command with curl is faster.',
    input: z.strictObject({
      machine,
      url: z
        .url({ protocol: /^https?$/ })
        .describe('http:// or https://. localhost is the machine itself.'),
    }),
    annotations: { ...mutating, openWorldHint: true },
    async run(call, { url, ...input }) {
      const found = await findMachine(call, input.machine)
      await found.open(url, { signal: call.signal })
      return showEffect(call, found, `Opened ${url}`)
    },
  }),
]
