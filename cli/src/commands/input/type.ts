import { clientCommand, examples } from '../../command.ts'
import { readHidden } from '../../prompt.ts'
import { act } from './act.ts'

export const type = clientCommand('type')
  .description('Type text into the focused window of a machine.')
  .argument('<machine>', 'machine ID or name')
  .argument('[text]', 'text to type (default: a hidden prompt, or standard input)')
  .addHelpText(
    'after',
    `
Key names are typed as they are: use \`computer key\` for Return and for shortcuts. Leave
passwords out of the arguments, which show in process lists and shell history.
${examples('computer type first "Hello, world"', 'computer type first < letter.txt')}`,
  )
  .action(async (ref, given, options) => {
    const text = given ?? (await readHidden('Text to type'))
    await act(ref, options, `typed ${[...text].length} characters`, async ({ keyboard }) => {
      await keyboard.type(text)
    })
  })
