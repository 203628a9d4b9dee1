import { z } from 'zod'
import { lookAt } from '../active-help.ts'
import { findMachine, machine } from '../find-machine.ts'
import { shorten } from '../text.ts'
import { mutating, readOnly, tool, type Tool } from '../tool.ts'

const maxLength = 20_000

const selection = z
  .enum(['clipboard', 'primary'])
  .optional()
  .describe('clipboard, the default, is that of Ctrl+C; primary is the selected text.')

export const clipboardTools: readonly Tool[] = [
  tool({
    name: 'read_clipboard',
    title: 'Read the clipboard',
    description:
      'Read the text in the clipboard of the desktop of a machine. Use it to get exact text from a ' +
      'window: press_keys with "ctrl+a" and "ctrl+c" first, then read it, instead of from a picture.',
    input: z.strictObject({ machine, selection }),
    annotations: readOnly,
    async run(call, input) {
      const found = await findMachine(call, input.machine)
      const options = { selection: input.selection, signal: call.signal }
      const text = await lookAt(found, () => found.clipboard.read(options))
      return text === '' ? 'The clipboard is empty.' : shorten(text, maxLength)
    },
  }),
  tool({
    name: 'write_clipboard',
    title: 'Write the clipboard',
    description:
      'Put text into the clipboard of the desktop of a machine. Use it to paste a long text with ' +
      'press_keys "ctrl+v", which is faster than type_text. It replaces what is in the clipboard.',
    input: z.strictObject({ machine, text: z.string().max(1_000_000), selection }),
    annotations: { ...mutating, idempotentHint: true },
    async run(call, { text, ...input }) {
      const options = { selection: input.selection, signal: call.signal }
      const found = await call.connection.leases.use(
        () => findMachine(call, input.machine),
        (one) => one.clipboard.write(text, options),
      )
      return `Put ${text.length} characters into the clipboard of ${found.name}.`
    },
  }),
]
