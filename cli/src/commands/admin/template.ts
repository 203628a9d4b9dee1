import { Argument, Command } from '@commander-js/extra-typings'
import { parseCountOrNone } from '../../command.ts'
import { runAdmin } from './run.ts'

const setWarm = new Command('set-warm')
  .description('Keep machines of a template booted in advance, so that a create takes one.')
  .argument('<template>', 'template ID, as shown by `computer template list`')
  .addArgument(new Argument('<count>', 'how many are kept; 0: none').argParser(parseCountOrNone))
  .option('--json', 'print the result as JSON')
  .addHelpText(
    'after',
    `
Programs that start with a machine of the template start in a warm one too, before anybody
takes it. Each holds about as much memory as a machine that rests with its desktop.`,
  )
  .action((templateId, count, { json }) =>
    runAdmin({ command: 'template set-warm', templateId, count }, { json }),
  )

export const template = new Command('template')
  .description('Manage templates of all organizations.')
  .addCommand(setWarm)
