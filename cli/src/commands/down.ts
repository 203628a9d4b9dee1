import { Command } from '@commander-js/extra-typings'
import { becomeServerProgram } from '../server-program.ts'

export const down = new Command('down')
  .description('Stop the server on this host and shut down all its machines.')
  .addHelpText(
    'after',
    `
Machines that do not shut down within 30 seconds are powered off. Their disks are kept;
after the next start of the server the machines are stopped. Then nothing writes to the
data folder, so it can be copied. (Ctrl-C in the terminal of the server stops the server
alone: its machines keep running and write to their disks.)`,
  )
  .action(() => becomeServerProgram('main-down.ts'))
