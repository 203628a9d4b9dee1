import { Command } from '@commander-js/extra-typings'
import { allScopes, scopeFlag, scopesHelp } from '../keys/scopes.ts'
import { runAdmin } from './run.ts'

const create = new Command('create')
  .description('Create an API key in the name of an owner, and show it once.')
  .argument('<name>', 'name that people recognize the key by')
  .option('--organization <id>', 'organization of the key (default: the first one)')
  .addOption(scopeFlag())
  .option('--json', 'print the result as JSON')
  .addHelpText('after', scopesHelp)
  .action((name, { organization, scope = allScopes, json }) =>
    runAdmin(
      { command: 'key create', organizationId: organization ?? null, name, scopes: scope },
      { json },
    ),
  )

export const key = new Command('key')
  .description('Create API keys on this host, without signing in as a person.')
  .addCommand(create)
