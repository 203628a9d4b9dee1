import { Command } from '@commander-js/extra-typings'
import { org } from './org.ts'
import { secrets } from './secrets.ts'
import { user } from './user.ts'

export const admin = new Command('admin')
  .description('Manage accounts, plans and the keys of secrets, as the operator of this server.')
  .addCommand(user)
  .addCommand(org)
  .addCommand(secrets)
  .addHelpText(
    'after',
    `
The commands work on the database of the server on this host (COMPUTER_DATA, or
DATABASE_URL), which may be running; its own has to be. Audit logs name the operator.

Exit code 0: done; 1: refused, and standard error says why; 2: no database answers.`,
  )
