import { Command } from '@commander-js/extra-typings'
import { becomeServerProgram } from '../server-program.ts'

export const uninstall = new Command('uninstall')
  .description('Stop the server of this host with its machines, and remove it with all data.')
  .option('--keep-data', 'leave the data folder: disks, keyring, database')
  .option('--yes', 'do not ask for confirmation')
  .addHelpText(
    'after',
    `
Removes the service, the network of the machines, what the server has mounted, the data
folder and what the set-up has added to the host, and prints it. Debian packages and the
checkout stay. What another server of this host uses stays as well. Without --yes, the
path of the data folder must be typed; with --keep-data, nothing is asked.`,
  )
  .action(({ keepData, yes }) =>
    becomeServerProgram('main-uninstall.ts', [
      ...(keepData ? ['--keep-data'] : []),
      ...(yes ? ['--yes'] : []),
    ]),
  )
