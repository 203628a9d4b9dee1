import { Command } from '@commander-js/extra-typings'
import { becomeServerProgram } from '../server-program.ts'

export const doctor = new Command('doctor')
  .description('Check whether this host can run the server, and how to fix what it lacks.')
  .option('--json', 'print the result as JSON')
  .addHelpText('after', '\nExit codes: 0 the host can run the server; 1 it cannot.')
  .action(({ json }) => becomeServerProgram('main-doctor.ts', json ? ['--json'] : []))
