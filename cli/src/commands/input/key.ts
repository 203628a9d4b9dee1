import { clientCommand, examples } from '../../command.ts'
import { act } from './act.ts'

export const key = clientCommand('key')
  .description('Press a key or a key combination on the desktop of a machine.')
  .argument('<machine>', 'machine ID or name')
  .argument('<keys>', 'names of keys, joined by +')
  .addHelpText('after', examples('computer key first Return', 'computer key first ctrl+shift+t'))
  .action(async (ref, keys, options) =>
    act(ref, options, `pressed ${keys}`, async ({ keyboard }) => {
      await keyboard.press(keys)
    }),
  )
