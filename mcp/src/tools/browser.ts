import type { Machine, Process } from '@computer/sdk'
import { z } from 'zod'
import { findMachine, machine } from '../find-machine.ts'
import { shorten } from '../text.ts'
import { changes, Refusal, tool, type Call, type Tool } from '../tool.ts'

/** A browser that cannot start has ended by then, and one that runs already has taken the page. */
const startsWithinMs = 3_000

export const browserTools: readonly Tool[] = [
  tool({
    name: 'open_page',
    title: 'Open a page in the browser',
    description:
      'Open an address in the browser on the screen of a machine, in a new tab if it is running ' +
      'already. Use it to begin with a page; then take a screenshot and click. To read a page or an ' +
      'API without looking at it, run_command with curl is faster.',
    input: z.strictObject({
      machine,
      url: z
        .url({ protocol: /^https?$/ })
        .describe('http:// or https://. localhost is the machine.'),
    }),
    annotations: { ...changes, openWorldHint: true },
    async run(call, { url, ...input }) {
      const found = await findMachine(call, input.machine)
      // The desktop has to be there for the browser to open on it.
      await found.display.get({ signal: call.signal })
      const started = await found.processes.start(['chromium', url], { signal: call.signal })
      const exited = await exitWithin(call, found, started)
      if (exited && exited.exitCode !== 0) {
        const { signal } = call
        const { content } = await found.processes.readLog(started.id, { stream: 'stderr', signal })
        throw new Refusal(`The browser did not start: ${shorten(content.trim(), 1000)}`)
      }
      return `The browser of ${found.name} opens ${url}. Take a screenshot to see it.`
    },
  }),
]

async function exitWithin(
  { signal }: Call,
  found: Machine,
  { id }: Process,
): Promise<Process | undefined> {
  const over = AbortSignal.timeout(startsWithinMs)
  try {
    return await found.processes.wait(id, { signal: AbortSignal.any([signal, over]) })
  } catch (error) {
    if (over.aborted && !signal.aborted) return undefined
    throw error
  }
}
