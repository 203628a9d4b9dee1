import { Command } from '@commander-js/extra-typings'
import { runServerProgram } from '../server-program.ts'

export const doctor = new Command('doctor')
  .description('Check whether this host can run the server, and say what to do where it cannot.')
  .option('--json', 'print the result as JSON')
  .addHelpText('after', '\nExit code 0: nothing keeps a server from running; 1: something does.')
  .action(async ({ json }) => {
    process.exitCode = await runServerProgram('main-doctor.ts', json ? ['--json'] : [])
  })
