import { Command } from '@commander-js/extra-typings'
import { runAdmin } from './run.ts'

export const loginLink = new Command('login-link')
  .description('Print a link that signs in to the dashboard once, within 10 minutes.')
  .option('--email <email>', 'account to sign in (default: the owner of the first organization)')
  .option('--json', 'print the result as JSON')
  .addHelpText(
    'after',
    `
It needs no password, so it also helps a person who forgot theirs. On a server without an
account, it leads to setting up the first one. It signs in anyone who opens it, so pass it
on as carefully as a password.`,
  )
  .action(({ email, json }) => runAdmin({ command: 'login-link', email: email ?? null }, { json }))
