import { Command } from '@commander-js/extra-typings'
import { runAdmin } from './run.ts'

const rotate = new Command('rotate')
  .description('Encrypt all secrets of machines under the first key of the keyring.')
  .option('--new-key', 'put a new key first before that; without a keyring, make one')
  .option('--json', 'print the result as JSON')
  .addHelpText(
    'after',
    `
The server goes on meanwhile. The keyring is the file COMPUTER_SECRETS_KEYRING, or
secrets.keyring in the data folder. Keys that are no longer needed may be taken out
of it afterwards; older copies of the database still need them.`,
  )
  .action(async ({ newKey, json }) =>
    runAdmin({ command: 'secrets rotate', newKey: newKey === true }, { json }),
  )

export const secrets = new Command('secrets')
  .description('Manage the encryption of secrets.')
  .addCommand(rotate)
