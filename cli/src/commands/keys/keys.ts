import { Command } from '@commander-js/extra-typings'
import { create } from './create.ts'
import { list } from './list.ts'
import { revoke } from './revoke.ts'

export const keys = new Command('keys')
  .description('Create, list and revoke the API keys of the organization.')
  .addCommand(create)
  .addCommand(list)
  .addCommand(revoke)
  .addHelpText(
    'after',
    `
No API key can create or revoke keys: sign in as a person with \`computer login --email\`.
On the host of the server, \`computer admin user create\` makes such a person, and
\`computer admin key create\` makes a key without one.`,
  )
