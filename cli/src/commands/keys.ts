import { Command } from '@commander-js/extra-typings'
import type { ApiKey } from '@computer/sdk'
import { connect } from '../client.ts'
import { clientCommand } from '../command.ts'
import { showList, type Columns } from '../output.ts'
import { formatAge } from '../text.ts'

const columns: Columns<ApiKey> = {
  name: ({ name }) => name,
  prefix: ({ prefix }) => prefix,
  id: ({ id }) => id,
  used: ({ lastUsedAt }) => formatAge(lastUsedAt),
  state: (key) => (isRevoked(key) ? 'revoked' : isExpired(key) ? 'expired' : 'valid'),
  scopes: ({ scopes }) => scopes.join(' '),
}

const list = clientCommand('list')
  .alias('ls')
  .description('List API keys, newest first.')
  .option('--all', 'include revoked keys')
  .action(async (options) => {
    await using computer = await connect(options)
    const stored = await computer.apiKeys.list({ limit: 100 }).all()
    const shown = options.all ? stored : stored.filter((key) => !isRevoked(key))
    showList(shown, columns, { ...options, emptyMessage: 'No API keys.' })
  })

export const keys = new Command('keys')
  .description('List the API keys of the organization.')
  .addCommand(list)
  .addHelpText(
    'after',
    '\nAn API key cannot create or revoke keys; that takes a person signed in with a browser.',
  )

function isRevoked({ revokedAt }: ApiKey): boolean {
  return revokedAt !== null
}

function isExpired({ expiresAt }: ApiKey): boolean {
  return expiresAt !== null && Date.parse(expiresAt) <= Date.now()
}
