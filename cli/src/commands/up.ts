import { Command } from '@commander-js/extra-typings'
import { runServerProgram } from '../server-program.ts'

export const up = new Command('up')
  .description('Start the server on this host and stay with it; Ctrl-C stops it.')
  .addHelpText(
    'after',
    `
Starts Postgres, the engine, the API, the gateway and the worker, and starts again
what dies. The first start makes an owner and keeps its API key in the data folder,
in owner.key. When the server stops, machines run on; the next start finds them.`,
  )
  .action(async () => {
    process.exitCode = await runServerProgram('main-up.ts')
  })
