import { Command } from '@commander-js/extra-typings'
import { billing } from './billing.ts'
import { catalog } from './catalog.ts'
import { key } from './key.ts'
import { loginLink } from './login-link.ts'
import { org } from './org.ts'
import { secrets } from './secrets.ts'
import { template } from './template.ts'
import { user } from './user.ts'

export const admin = new Command('admin')
  .description(
    'Manage accounts, sign-in, plans, prices, API keys and secret encryption, as the operator of this server.',
  )
  .addCommand(user)
  .addCommand(org)
  .addCommand(catalog)
  .addCommand(billing)
  .addCommand(key)
  .addCommand(template)
  .addCommand(loginLink)
  .addCommand(secrets)
  .addHelpText(
    'after',
    `
These commands use the database of the server on this host (COMPUTER_DATA, or
DATABASE_URL). The embedded database is available only while the server runs. Audit logs
record the operator as the actor.

Exit codes: 0 success; 1 refused, with the reason on standard error; 2 no database reachable.`,
  )
