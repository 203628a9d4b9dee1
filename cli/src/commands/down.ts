import { Command } from '@commander-js/extra-typings'
import { runServerProgram } from '../server-program.ts'

export const down = new Command('down')
  .description('Stop the server of this host, if it runs, and shut all its machines down.')
  .addHelpText(
    'after',
    `
Machines shut down cleanly, or have the plug pulled after 30 seconds. Their disks are
kept: after the next start they are there, stopped.`,
  )
  .action(async () => {
    process.exitCode = await runServerProgram('main-down.ts')
  })
