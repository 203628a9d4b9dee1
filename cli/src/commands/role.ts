import { Argument, Command } from '@commander-js/extra-typings'
import { becomeServerProgram } from '../server-program.ts'

export const role = new Command('role')
  .description('Run one process of the server in the foreground.')
  .addArgument(
    new Argument('<role>', 'process to run').choices(['api', 'gateway', 'worker', 'engine']),
  )
  .addHelpText(
    'after',
    `
\`computer up\` runs all processes of a host; this is for hosts where something else starts
and restarts them, and for further APIs and gateways, of which there may be any number. A
process logs to its output. It refuses to start on a database of an older version: run
\`computer migrate\` first.`,
  )
  .action((name) => becomeServerProgram('main-role.ts', [name]))
