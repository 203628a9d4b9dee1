import type { ApiKey } from '@computer/sdk'
import { connect } from '../../client.ts'
import { clientCommand } from '../../command.ts'
import { showList, type Columns } from '../../output.ts'
import { formatAge } from '../../text.ts'
import { isRevoked } from './manage.ts'

const columns: Columns<ApiKey> = {
  name: ({ name }) => name,
  prefix: ({ prefix }) => prefix,
  id: ({ id }) => id,
  used: ({ lastUsedAt }) => formatAge(lastUsedAt),
  state: (key) => (isRevoked(key) ? 'revoked' : isExpired(key) ? 'expired' : 'valid'),
  scopes: ({ scopes }) => scopes.join(' '),
}

export const list = clientCommand('list')
  .alias('ls')
  .description('List API keys, newest first.')
  .option('--all', 'include revoked keys')
  .action(async (options) => {
    await using computer = await connect(options)
    const stored = await computer.apiKeys.list({ limit: 100 }).all()
    const shown = options.all ? stored : stored.filter((key) => !isRevoked(key))
    showList(shown, columns, { ...options, emptyMessage: 'No API keys.' })
  })

function isExpired({ expiresAt }: ApiKey): boolean {
  return expiresAt !== null && Date.parse(expiresAt) <= Date.now()
}
