import { Command } from '@commander-js/extra-typings'
import { becomeServerProgram } from '../server-program.ts'

export const installService = new Command('install-service')
  .description('Make the server of this host a service of systemd, and start it.')
  .option('--print', 'print the unit, and change nothing')
  .addHelpText(
    'after',
    `
The settings of the server belong in computer.env in its data folder, and not in the
unit. A repeated call writes what has changed; it never restarts a server that runs.`,
  )
  .action(({ print }) => becomeServerProgram('main-install-service.ts', print ? ['--print'] : []))
