import { Command } from '@commander-js/extra-typings'
import { becomeServerProgram } from '../server-program.ts'

export const join = new Command('join')
  .description('Make this host one of a server that has others.')
  .argument('<token>', 'token, as printed by `computer hosts add` on a host of the server')
  .requiredOption(
    '--address <address:port>',
    'where the other hosts reach this one, such as 10.0.0.2:7083',
  )
  .addHelpText(
    'after',
    `
Stores the address of the database, the keyring and the name of this host in the data
folder. Then \`computer up\` starts the host.`,
  )
  .action((token, { address }) => becomeServerProgram('main-join.ts', [token, address]))
