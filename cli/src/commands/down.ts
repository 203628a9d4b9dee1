import { Command } from '@commander-js/extra-typings'
import { runServerProgram } from '../server-program.ts'

export const down = new Command('down')
  .description('Stop the server on this host and shut down all its machines.')
  .addHelpText(
    'after',
    `
Machines that do not shut down within 30 seconds are powered off. Their disks are kept;
after the next start of the server the machines are stopped.`,
  )
  .action(async () => {
    process.exitCode = await runServerProgram('main-down.ts')
  })
