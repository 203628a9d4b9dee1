import { Command } from '@commander-js/extra-typings'
import { runAdmin } from './admin/run.ts'

export const status = new Command('status')
  .description('Show what the hosts of the server have and can take, and the work that waits.')
  .option('--json', 'print the result as JSON')
  .addHelpText(
    'after',
    `
A host has room to run as many machines as its free memory is enough for, at what a machine
takes when it starts. Work waits that is due and that no worker has taken; a server that
keeps up has none that is older than a few seconds.`,
  )
  .action(({ json }) => runAdmin({ command: 'status' }, { json }))
