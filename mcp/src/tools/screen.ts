import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { findMachine, machine } from '../find-machine.ts'
import { showScreen } from '../show-screen.ts'
import { readOnly, tool, type Tool } from '../tool.ts'

export const screenTools: readonly Tool[] = [
  tool({
    name: 'screenshot',
    title: 'Take a screenshot',
    description:
      'Take a picture of the screen of a machine, once nothing moves on it. Use it before you click ' +
      'anywhere; the tools that click and type answer with a picture of their own. Coordinates are ' +
      'pixels in the last picture, counted from its top-left corner.',
    input: z.strictObject({
      machine,
      wait_seconds: z
        .number()
        .min(0)
        .max(10)
        .optional()
        .describe('Wait first, for a page or window that is still opening. Default: 0.'),
    }),
    annotations: readOnly,
    async run(call, input) {
      const { signal } = call
      const found = await findMachine(call, input.machine)
      if (input.wait_seconds) await pause(input.wait_seconds * 1000, undefined, { signal })
      return showScreen(call, found)
    },
  }),
]
