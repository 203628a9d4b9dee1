import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { findMachine, machine } from '../find-machine.ts'
import { renderImage } from '../images.ts'
import { readOnly, tool, type Tool } from '../tool.ts'

export const screenTools: readonly Tool[] = [
  tool({
    name: 'screenshot',
    title: 'Take a screenshot',
    description:
      'Take a picture of the screen of a machine. Use it before you click anywhere, and after each ' +
      'action to see its effect. The coordinates of other tools are pixels in this picture, counted ' +
      'from its top-left corner.',
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
      const { connection, signal } = call
      const found = await findMachine(call, input.machine)
      if (input.wait_seconds) await pause(input.wait_seconds * 1000, undefined, { signal })
      const { bytes, width, height } = await found.screenshot({ format: 'png', signal })
      const { content, shown } = await renderImage(bytes)
      connection.displaySizes.set(found.id, { width, height })
      const size = `${shown.width}x${shown.height}`
      const isScaled = shown.width !== width
      const scaleNote = isScaled ? `, scaled down from a display of ${width}x${height}` : ''
      const text = `The screen of ${found.name}: ${size} pixels${scaleNote}. Give coordinates in this picture.`
      return [content, { type: 'text', text }]
    },
  }),
]
