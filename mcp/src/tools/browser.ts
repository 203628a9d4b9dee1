import type { Machine, Process } from '@computer/sdk'
import { z } from 'zod'
import { findMachine, machine } from '../find-machine.ts'
import { showEffect } from '../show-screen.ts'
import { shorten } from '../text.ts'
import { ToolError } from '../tool-error.ts'
import { mutating, tool, type ToolCall, type Tool } from '../tool.ts'

/** By then a browser that fails to start has exited, and a running one has accepted the page. */
const startTimeoutMs = 3_000

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
      // Waits until the desktop, which the browser needs, has started.
      await found.display.get({ signal: call.signal })
      const started = await found.processes.start(['chromium', url], { signal: call.signal })
      const exited = await exitWithin(call, found, started)
      if (exited && exited.exitCode !== 0) {
        const { signal } = call
        const { content } = await found.processes.readLog(started.id, { stream: 'stderr', signal })
        throw new ToolError(`The browser did not start: ${shorten(content.trim(), 1000)}`)
      }
      return showEffect(call, found, `Opened ${url}`)
    },
  }),
]

async function exitWithin(
  { signal }: ToolCall,
  found: Machine,
  { id }: Process,
): Promise<Process | undefined> {
  const timeout = AbortSignal.timeout(startTimeoutMs)
  try {
    return await found.processes.wait(id, { signal: AbortSignal.any([signal, timeout]) })
  } catch (error) {
    if (timeout.aborted && !signal.aborted) return undefined
    throw error
  }
}
