import { Command } from '@commander-js/extra-typings'
import { runAdmin } from './run.ts'

const rotate = new Command('rotate')
  .description('Re-encrypt all machine secrets with the first key of the keyring.')
  .option('--new-key', 'first add a new key at the front, creating the keyring if there is none')
  .option('--json', 'print the result as JSON')
  .addHelpText(
    'after',
    `
The server keeps running meanwhile. The keyring is the file COMPUTER_SECRETS_KEYRING, or
secrets.keyring in the data folder. Unused keys may be removed from it afterwards, but
older backups of the database still need them.`,
  )
  .action(({ newKey, json }) =>
    runAdmin({ command: 'secrets rotate', newKey: newKey === true }, { json }),
  )

export const secrets = new Command('secrets')
  .description('Manage the encryption of machine secrets.')
  .addCommand(rotate)
